#include "runtime/loops/loops_kernels.h"

#include "runtime/kernel/kernel_table.h"
#include "runtime/loops/families.h"

namespace amp {

std::vector<const KernelRow*> FindLoopsKernels(absl::string_view domain, absl::string_view op_type, int version) {
  static const KernelTable& table = *new KernelTable({
      BatchNormLoopKernels(),
      BinaryLoopKernels(),
      CastLoopKernels(),
      LayerNormLoopKernels(),
      LossLoopKernels(),
      GatherGradientLoopKernels(),
      NormGradientLoopKernels(),
      NormLoopKernels(),
      PoolGradientLoopKernels(),
      PoolLoopKernels(),
      QuantizationLoopKernels(),
      QuantizedLoopKernels(),
      RankKernels(),
      ReductionLoopKernels(),
      ResizeLoopKernels(),
      SoftmaxLoopKernels(),
      TrainLoopKernels(),
      UnaryLoopKernels(),
  });
  return table.Find(domain, op_type, version);
}

}  // namespace amp
