// Convolutions and transposed ones, a thread for each element of the result: what runs where no library takes them.
#ifndef AMP_RUNTIME_DEVICE_RAW_CONVOLUTION_H_
#define AMP_RUNTIME_DEVICE_RAW_CONVOLUTION_H_

#include <cstdint>

#include "runtime/device/raw/element.h"
#include "runtime/device/raw/kernels.h"
#include "runtime/device/raw/rows.h"

namespace amp::device {

// y = convolution of x with w + bias, in images of up to three axes; axes that they do not have come first, and are 1.
// Windows slide over x, whose size is `input`, or where it is transposed over y, whose size is that.
struct ConvolveArguments {
  static constexpr Kernel kKernel = Kernel::kConvolve;
  const void *x, *w;
  const void* bias;  // null: none
  void* y;
  Storage storage;
  uint32_t count;              // of y
  uint32_t channels, filters;  // of x, of y
  uint32_t group_channels, group_filters;
  bool is_transposed;
  PoolAxis axes[kMaxPoolAxes];
};

// The index along an axis of x that tap `tap` of output `position` reads; below 0: none.
AMP_BOTH inline int32_t ReadByTap(const PoolAxis& axis, bool is_transposed, int32_t position, int32_t tap) {
  if (!is_transposed) {
    const int32_t at = position * axis.stride - axis.pad_begin + tap * axis.dilation;
    return at < axis.input ? at : -1;
  }
  const int32_t reach = position + axis.pad_begin - tap * axis.dilation;
  if (reach < 0 || reach % axis.stride != 0) return -1;
  return reach / axis.stride < axis.output ? reach / axis.stride : -1;
}

template <typename T>
struct ConvolveBody {
  ConvolveArguments convolve;

  AMP_BOTH int32_t SizeOfX(int axis) const {
    return convolve.is_transposed ? convolve.axes[axis].output : convolve.axes[axis].input;
  }
  AMP_BOTH int32_t SizeOfY(int axis) const {
    return convolve.is_transposed ? convolve.axes[axis].input : convolve.axes[axis].output;
  }

  // Over one channel: a plane of x, and the taps of one filter for it.
  AMP_BOTH float SumOfChannel(const T* x, const T* w, const int32_t (&position)[kMaxPoolAxes]) const {
    const PoolAxis* const axes = convolve.axes;
    float sum = 0;
    for (int32_t d = 0; d < axes[0].kernel; ++d) {
      const int32_t slice = ReadByTap(axes[0], convolve.is_transposed, position[0], d);
      for (int32_t r = 0; r < axes[1].kernel && slice >= 0; ++r) {
        const int32_t row = ReadByTap(axes[1], convolve.is_transposed, position[1], r);
        for (int32_t c = 0; c < axes[2].kernel && row >= 0; ++c) {
          const int32_t column = ReadByTap(axes[2], convolve.is_transposed, position[2], c);
          if (column < 0) continue;
          const int64_t at = (static_cast<int64_t>(slice) * SizeOfX(1) + row) * SizeOfX(2) + column;
          const int64_t tap = (static_cast<int64_t>(d) * axes[1].kernel + r) * axes[2].kernel + c;
          sum += Widen(x[at]) * Widen(w[tap]);
        }
      }
    }
    return sum;
  }

  AMP_BOTH void operator()(uint32_t i) const {
    uint32_t rest = i;
    int32_t position[kMaxPoolAxes];
    for (int axis = kMaxPoolAxes - 1; axis >= 0; --axis) {
      position[axis] = static_cast<int32_t>(rest % static_cast<uint32_t>(SizeOfY(axis)));
      rest /= static_cast<uint32_t>(SizeOfY(axis));
    }
    const uint32_t filter = rest % convolve.filters, image = rest / convolve.filters;
    const uint32_t group = filter / convolve.group_filters, within = filter % convolve.group_filters;
    const int64_t plane = static_cast<int64_t>(SizeOfX(0)) * SizeOfX(1) * SizeOfX(2);
    const int64_t taps =
        static_cast<int64_t>(convolve.axes[0].kernel) * convolve.axes[1].kernel * convolve.axes[2].kernel;
    float sum = 0;
    for (uint32_t c = 0; c < convolve.group_channels; ++c) {
      const int64_t channel = static_cast<int64_t>(group) * convolve.group_channels + c;
      // w is [filters, channels of a group, ...], or where it is transposed [channels, filters of a group, ...].
      const int64_t weights = convolve.is_transposed ? channel * convolve.group_filters + within
                                                     : static_cast<int64_t>(filter) * convolve.group_channels + c;
      sum += SumOfChannel(
          static_cast<const T*>(convolve.x) + (image * static_cast<int64_t>(convolve.channels) + channel) * plane,
          static_cast<const T*>(convolve.w) + weights * taps, position);
    }
    if (convolve.bias != nullptr) sum += Widen(static_cast<const T*>(convolve.bias)[filter]);
    static_cast<T*>(convolve.y)[i] = Narrow<T>(sum);
  }
};

template <typename Runner>
int Start(Runner& runner, const ConvolveArguments& convolve) {
  return VisitFloat(convolve.storage, kBadArguments,
                    [&]<typename T>(Tag<T>) { return runner.ForEach(convolve.count, ConvolveBody<T>{convolve}); });
}

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_CONVOLUTION_H_
