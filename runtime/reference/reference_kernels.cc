#include "runtime/reference/reference_kernels.h"

#include "runtime/kernel/kernel_table.h"
#include "runtime/reference/attention_families.h"
#include "runtime/reference/families.h"
#include "runtime/reference/training_families.h"

namespace amp {

std::vector<const KernelRow*> FindReferenceKernels(absl::string_view domain, absl::string_view op_type, int version) {
  static const auto& table = *new KernelTable({
      ArithmeticKernels(),
      MathKernels(),
      ActivationKernels(),
      ComparisonKernels(),
      BitwiseKernels(),
      CastKernels(),
      QuantizationKernels(),
      RandomKernels(),
      WindowKernels(),
      ShapeKernels(),
      JoinKernels(),
      SliceKernels(),
      GatherKernels(),
      ScatterKernels(),
      PadKernels(),
      IndexKernels(),
      GeneratorKernels(),
      SortKernels(),
      CumulativeKernels(),
      RearrangeKernels(),
      SequenceKernels(),
      ReductionKernels(),
      SoftmaxKernels(),
      NormKernels(),
      LayerNormKernels(),
      LossKernels(),
      GradientKernels(),
      TrainingLossKernels(),
      OptimizerKernels(),
      ActivationGradientKernels(),
      LayerGradientKernels(),
      MovementGradientKernels(),
      RuntimeLossKernels(),
      RuntimeUpdateKernels(),
      ControlFlowKernels(),
      ScanLoopKernels(),
      MatrixKernels(),
      EinsumKernels(),
      ExperimentalKernels(),
      ConvolutionKernels(),
      DeformableConvolutionKernels(),
      PoolKernels(),
      QuantizedMatrixKernels(),
      QuantizedContribKernels(),
      AttentionKernels(),
      RotaryEmbeddingKernels(),
      FusedAttentionKernels(),
      GroupQueryAttentionKernels(),
      LinearAttentionKernels(),
      RecurrentKernels(),
      ResizeKernels(),
      SamplingKernels(),
      RegionKernels(),
      SuppressionKernels(),
      SignalKernels(),
      TextKernels(),
      TfIdfKernels(),
      TreesKernels(),
      ClassicalKernels(),
      EncoderKernels(),
      SvmKernels(),
      ContribKernels(),
  });
  std::vector<const KernelRow*> rows = table.Find(domain, op_type, version);
  if (rows.size() > 1) rows.resize(1);
  return rows;
}

}  // namespace amp
