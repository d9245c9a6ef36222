// Subtracts the effect of the weights' zero points from a convolution's sums of products of 8-bit integers.
//
//   sum over taps of (x - x_zero) (w - w_zero) = sum (x - x_zero) w - w_zero sum (x - x_zero)
//
// The last sum depends on the window and the group, but not on the filter. Channels are added up once, then taps along
// one axis after another.
#ifndef AMP_RUNTIME_CPU_WINDOW_SUMS_H_
#define AMP_RUNTIME_CPU_WINDOW_SUMS_H_

#include <cstdint>
#include <vector>

#include "ir/base/status.h"
#include "runtime/forms/window.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// Subtracts w_zero sum (x - x_zero) from `sums`, int32 [batch, filters, ...]. `x`: int8 or uint8 [batch, channels,
// ...]. Both are channels-last. Sums wrap at 32 bits. `w_zeros`: one per filter. Allocates scratch memory from the
// context. REQUIRES: channels and filters are multiples of `groups`. Error: kResourceExhausted.
absl::Status SubtractZeroPoints(const KernelContext& context, const Tensor& x, int32_t x_zero, const Window& window,
                                int64_t groups, const std::vector<int32_t>& w_zeros, Tensor& sums);

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_WINDOW_SUMS_H_
