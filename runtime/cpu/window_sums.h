// What zero points of a convolution's weights take from its sums of products, of 8-bit integers.
//
//   sum over taps of (x - x_zero) (w - w_zero) = sum (x - x_zero) w - w_zero sum (x - x_zero)
//
// The last sum is one per window and group, whatever the filter: channels are added up once, then taps axis by axis.
#ifndef AMP_RUNTIME_CPU_WINDOW_SUMS_H_
#define AMP_RUNTIME_CPU_WINDOW_SUMS_H_

#include <cstdint>
#include <vector>

#include "ir/base/status.h"
#include "runtime/forms/window.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// Takes it from `sums` [batch, filters, ...], int32 and channels-last as `x` of int8 or uint8 [batch, channels, ...] is;
// sums wrap at 32 bits. `w_zeros`: one per filter. Scratch memory is the context's. REQUIRES: channels and filters are
// multiples of `groups`. Error: kResourceExhausted.
absl::Status SubtractZeroPoints(const KernelContext& context, const Tensor& x, int32_t x_zero, const Window& window,
                                int64_t groups, const std::vector<int32_t>& w_zeros, Tensor& sums);

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_WINDOW_SUMS_H_
