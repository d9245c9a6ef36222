#include "runtime/cpu/window_sums.h"

#include <algorithm>
#include <utility>

#include "runtime/kernel/parallel_for.h"
#include "runtime/loops/best_loops.h"

namespace amp {
namespace {

// Returns [pixels, groups]: the sums of x - x_zero over the channels of each group.
absl::StatusOr<Tensor> ChannelSums(const KernelContext& context, const Tensor& x, int32_t x_zero, int64_t groups) {
  const auto of_group = static_cast<size_t>(x.dim(1) / groups);
  const int64_t count = x.num_elements() / x.dim(1) * groups;
  AMP_ASSIGN_OR_RETURN(Tensor result, context.MakeScratch(DType::kInt32, {count}));
  const auto* const bytes = reinterpret_cast<const uint8_t*>(x.bytes().data());
  int32_t* const out = result.mutable_elements<int32_t>().data();
  const bool is_signed = x.dtype() == DType::kInt8;
  const auto zeros = static_cast<int32_t>(of_group) * x_zero;
  const QuantizedLoops& loops = BestLoops().quantized;
  ParallelFor(static_cast<size_t>(count), of_group, [&](const Share& share) {
    for (size_t i = share.first; i < share.end; ++i) {
      const uint8_t* const first = bytes + i * of_group;
      int32_t sum = 0;
      if (is_signed) {
        for (size_t c = 0; c < of_group; ++c) sum += static_cast<int8_t>(first[c]);
      } else {
        sum = static_cast<int32_t>(loops.sum_of_bytes(first, of_group));
      }
      out[i] = sum - zeros;
    }
  });
  return result;
}

// Sums [outer, input, inner] to [outer, output, inner]: over the taps of each window that are not in the padding.
absl::StatusOr<Tensor> SumAlong(const KernelContext& context, const Tensor& x, const WindowAxis& axis, int64_t outer) {
  const int64_t inner = x.num_elements() / (outer * axis.input);
  AMP_ASSIGN_OR_RETURN(Tensor result, context.MakeScratch(DType::kInt32, {outer * axis.output * inner}));
  const int32_t* const in = x.elements<int32_t>().data();
  int32_t* const out = result.mutable_elements<int32_t>().data();
  ParallelFor(static_cast<size_t>(outer * axis.output), static_cast<size_t>(inner * axis.kernel),
              [&](const Share& share) {
                for (auto i = static_cast<int64_t>(share.first); i < static_cast<int64_t>(share.end); ++i) {
                  int32_t* const to = out + i * inner;
                  std::fill_n(to, inner, 0);
                  const int64_t first = i % axis.output * axis.stride - axis.pad_begin;
                  for (int64_t tap = 0; tap < axis.kernel; ++tap) {
                    const int64_t at = first + tap * axis.dilation;
                    if (at < 0 || at >= axis.input) continue;
                    const int32_t* const from = in + (i / axis.output * axis.input + at) * inner;
                    for (int64_t k = 0; k < inner; ++k) to[k] += from[k];
                  }
                }
              });
  return result;
}

}  // namespace

absl::Status SubtractZeroPoints(const KernelContext& context, const Tensor& x, int32_t x_zero, const Window& window,
                                int64_t groups, const std::vector<int32_t>& w_zeros, Tensor& sums) {
  AMP_ASSIGN_OR_RETURN(Tensor of_windows, ChannelSums(context, x, x_zero, groups));
  int64_t outer = x.dim(0);
  for (const WindowAxis& axis : window) {
    AMP_ASSIGN_OR_RETURN(of_windows, SumAlong(context, of_windows, axis, outer));
    outer *= axis.output;
  }
  const size_t filters = w_zeros.size(), num_groups = static_cast<size_t>(groups), of_group = filters / num_groups;
  const std::vector<uint32_t> none(of_group, 0), zeros(w_zeros.begin(), w_zeros.end());
  const int32_t* const in = of_windows.elements<int32_t>().data();
  int32_t* const out = sums.mutable_elements<int32_t>().data();
  const QuantizedLoops& loops = BestLoops().quantized;
  ParallelFor(static_cast<size_t>(outer), filters, [&](const Share& share) {
    for (size_t window_at = share.first; window_at < share.end; ++window_at) {
      const int32_t* const of_window = in + window_at * num_groups;
      int32_t* const to = out + window_at * filters;
      if (of_group == 1) {
        for (size_t i = 0; i < filters; ++i) to[i] -= of_window[i] * w_zeros[i];
        continue;
      }
      for (size_t group = 0; group < num_groups; ++group) {
        loops.add_to_sums(none.data(), zeros.data() + group * of_group, 0 - static_cast<uint32_t>(of_window[group]),
                          to + group * of_group, of_group);
      }
    }
  });
  return absl::OkStatus();
}

}  // namespace amp
