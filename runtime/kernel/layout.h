// The two orders in which a tensor's elements may lie.
//
//   [N, C, H, W] row-major       n c h w
//   [N, C, H, W] channels-last   n h w c
#ifndef AMP_RUNTIME_KERNEL_LAYOUT_H_
#define AMP_RUNTIME_KERNEL_LAYOUT_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// Returns the tensor in another layout; itself if it has that. REQUIRES: for kChannelsLast a rank of at least 3, no
// strings. Errors: memory.
absl::StatusOr<Tensor> InLayout(const Tensor& tensor, Layout layout, TensorMemory* memory);

// Where things are in memory: [N, C, H, W] channels-last is there what a row-major [N, H, W, C] is. What is row-major
// stays as it is.
Dims DimsInMemory(Dims dims, Layout layout);
size_t AxisInMemory(size_t axis, size_t rank, Layout layout);
Tensor AsInMemory(const Tensor& tensor);
Tensor FromMemory(const Tensor& in_memory, Layout layout);  // the other way

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_LAYOUT_H_
