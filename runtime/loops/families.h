// The families of kernels made of loops, a file each; loops_kernels.cc makes one table of them.
#ifndef AMP_RUNTIME_LOOPS_FAMILIES_H_
#define AMP_RUNTIME_LOOPS_FAMILIES_H_

#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"

namespace amp {

absl::Span<const KernelRow> BatchNormLoopKernels();
absl::Span<const KernelRow> BinaryLoopKernels();
absl::Span<const KernelRow> CastLoopKernels();
absl::Span<const KernelRow> ColumnsLoopKernels();
absl::Span<const KernelRow> CumulativeLoopKernels();
absl::Span<const KernelRow> ExtremeLoopKernels();
absl::Span<const KernelRow> FewRowsKernels();
absl::Span<const KernelRow> GatherGradientLoopKernels();
absl::Span<const KernelRow> GridSampleLoopKernels();
absl::Span<const KernelRow> LayerNormLoopKernels();
absl::Span<const KernelRow> LossLoopKernels();
absl::Span<const KernelRow> NormGradientLoopKernels();
absl::Span<const KernelRow> NormLoopKernels();
absl::Span<const KernelRow> PoolGradientLoopKernels();
absl::Span<const KernelRow> PoolLoopKernels();
absl::Span<const KernelRow> QuantizationLoopKernels();
absl::Span<const KernelRow> QuantizedLoopKernels();
absl::Span<const KernelRow> RankKernels();
absl::Span<const KernelRow> ReductionLoopKernels();
absl::Span<const KernelRow> ResizeLoopKernels();
absl::Span<const KernelRow> SoftmaxLoopKernels();
absl::Span<const KernelRow> TrainLoopKernels();
absl::Span<const KernelRow> UnaryLoopKernels();

// The row of a reduction that may read a narrower type than its node does; null for other operators.
const KernelRow* FindReductionRow(absl::string_view domain, absl::string_view op_type);

}  // namespace amp

#endif  // AMP_RUNTIME_LOOPS_FAMILIES_H_
