// Along which axes a node reduces, and the shape that is left.
#ifndef AMP_RUNTIME_KERNEL_REDUCED_AXES_H_
#define AMP_RUNTIME_KERNEL_REDUCED_AXES_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// From input 1 or the attribute `axes`; where there are none, all, or by `noop_with_empty_axes` none. Sorted. Errors:
// those of NormalizeAxes.
absl::StatusOr<std::vector<size_t>> ReducedAxes(const KernelContext& context, size_t rank);

// `keepdims` other than 0: with ones in their places.
Dims ReducedDims(Dims dims, absl::Span<const size_t> axes, int64_t keepdims);

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_REDUCED_AXES_H_
