// The families of reference kernels, a file or two each; reference_kernels.cc makes one table of them.
#ifndef AMP_RUNTIME_REFERENCE_FAMILIES_H_
#define AMP_RUNTIME_REFERENCE_FAMILIES_H_

#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"

namespace amp {

absl::Span<const KernelRow> ArithmeticKernels();
absl::Span<const KernelRow> MathKernels();
absl::Span<const KernelRow> ActivationKernels();
absl::Span<const KernelRow> ComparisonKernels();
absl::Span<const KernelRow> BitwiseKernels();
absl::Span<const KernelRow> CastKernels();
absl::Span<const KernelRow> QuantizationKernels();
absl::Span<const KernelRow> RandomKernels();
absl::Span<const KernelRow> WindowKernels();
absl::Span<const KernelRow> ShapeKernels();
absl::Span<const KernelRow> JoinKernels();
absl::Span<const KernelRow> SliceKernels();
absl::Span<const KernelRow> GatherKernels();
absl::Span<const KernelRow> ScatterKernels();
absl::Span<const KernelRow> PadKernels();
absl::Span<const KernelRow> IndexKernels();
absl::Span<const KernelRow> GeneratorKernels();
absl::Span<const KernelRow> SortKernels();
absl::Span<const KernelRow> CumulativeKernels();
absl::Span<const KernelRow> RearrangeKernels();
absl::Span<const KernelRow> SequenceKernels();
absl::Span<const KernelRow> ReductionKernels();
absl::Span<const KernelRow> SoftmaxKernels();
absl::Span<const KernelRow> NormKernels();
absl::Span<const KernelRow> LayerNormKernels();
absl::Span<const KernelRow> LossKernels();
absl::Span<const KernelRow> GradientKernels();
absl::Span<const KernelRow> TrainingLossKernels();
absl::Span<const KernelRow> OptimizerKernels();
absl::Span<const KernelRow> ControlFlowKernels();
absl::Span<const KernelRow> ScanLoopKernels();
absl::Span<const KernelRow> MatrixKernels();
absl::Span<const KernelRow> EinsumKernels();
absl::Span<const KernelRow> ExperimentalKernels();
absl::Span<const KernelRow> ConvolutionKernels();
absl::Span<const KernelRow> DeformableConvolutionKernels();
absl::Span<const KernelRow> PoolKernels();
absl::Span<const KernelRow> QuantizedMatrixKernels();
absl::Span<const KernelRow> QuantizedContribKernels();
absl::Span<const KernelRow> AttentionKernels();
absl::Span<const KernelRow> FusedAttentionKernels();
absl::Span<const KernelRow> LinearAttentionKernels();
absl::Span<const KernelRow> RecurrentKernels();
absl::Span<const KernelRow> ResizeKernels();
absl::Span<const KernelRow> SamplingKernels();
absl::Span<const KernelRow> RegionKernels();
absl::Span<const KernelRow> SuppressionKernels();
absl::Span<const KernelRow> SignalKernels();
absl::Span<const KernelRow> TextKernels();
absl::Span<const KernelRow> TfIdfKernels();
absl::Span<const KernelRow> TreesKernels();
absl::Span<const KernelRow> ClassicalKernels();
absl::Span<const KernelRow> EncoderKernels();
absl::Span<const KernelRow> SvmKernels();
absl::Span<const KernelRow> ContribKernels();

}  // namespace amp

#endif  // AMP_RUNTIME_REFERENCE_FAMILIES_H_
