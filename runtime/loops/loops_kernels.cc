#include "runtime/loops/loops_kernels.h"

#include "runtime/kernel/kernel_table.h"
#include "runtime/loops/families.h"

namespace amp {

std::vector<const KernelRow*> FindFewRowsKernels(absl::string_view domain, absl::string_view op_type, int version) {
  static const auto& table = *new KernelTable({FewRowsKernels()});
  return table.Find(domain, op_type, version);
}

std::vector<const KernelRow*> FindLoopsKernels(absl::string_view domain, absl::string_view op_type, int version) {
  static const auto& table = *new KernelTable({BatchNormLoopKernels(),
                                               BinaryLoopKernels(),
                                               CastLoopKernels(),
                                               ColumnsLoopKernels(),
                                               CumulativeLoopKernels(),
                                               ExtremeLoopKernels(),
                                               LayerNormLoopKernels(),
                                               LossLoopKernels(),
                                               GatherGradientLoopKernels(),
                                               GridSampleLoopKernels(),
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
                                               UnaryLoopKernels()});
  return table.Find(domain, op_type, version);
}

}  // namespace amp
