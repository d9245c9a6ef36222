// Convolutions and transposed convolutions with one thread per element of the result, for those that no library takes.
#ifndef AMP_RUNTIME_DEVICE_RAW_CONVOLUTION_H_
#define AMP_RUNTIME_DEVICE_RAW_CONVOLUTION_H_

#include <cstdint>

#include "runtime/device/raw/element.h"
#include "runtime/device/raw/kernels.h"
#include "runtime/device/raw/result_step.h"
#include "runtime/device/raw/rows.h"

namespace amp::device {

// Computes y = steps(convolution of x with w + bias) for images of up to three axes; missing axes come first, with
// length 1. Windows slide over an image whose size is `input` and give `output` positions: that image is x, or y in a
// transposed convolution.
struct ConvolveArguments {
  static constexpr Kernel kKernel = Kernel::kConvolve;
  const void *x, *w;
  const void* bias;  // null: none
  void* y;
  Storage storage;             // of x, w, bias and the steps' operands
  Storage stored_as;           // of y
  uint32_t count;              // of y
  uint32_t channels, filters;  // of x, of y
  uint32_t group_channels, group_filters;
  bool is_transposed;
  PoolAxis axes[kMaxPoolAxes];
  int32_t num_steps = 0;
  ResultStep steps[kMaxResultSteps] = {};
};

// Returns the index along an axis of x that tap `tap` of output `position` reads; below 0: none.
AMP_BOTH inline int32_t ReadByTap(const PoolAxis& axis, bool is_transposed, int32_t position, int32_t tap) {
  if (!is_transposed) {
    const int32_t at = position * axis.stride - axis.pad_begin + tap * axis.dilation;
    return at < axis.input ? at : -1;
  }
  const int32_t reach = position + axis.pad_begin - tap * axis.dilation;
  if (reach < 0 || reach % axis.stride != 0) return -1;
  return reach / axis.stride < axis.output ? reach / axis.stride : -1;
}

// The coordinates of one element of the result.
struct ConvolvePlace {
  int32_t position[kMaxPoolAxes];
  uint32_t filter, image, group, within;  // `within`: the filter's index in its group
};

struct ConvolveWalk {
  const ConvolveArguments& convolve;

  AMP_BOTH int32_t SizeOfX(int axis) const {
    return convolve.is_transposed ? convolve.axes[axis].output : convolve.axes[axis].input;
  }
  AMP_BOTH int32_t SizeOfY(int axis) const {
    return convolve.is_transposed ? convolve.axes[axis].input : convolve.axes[axis].output;
  }

  AMP_BOTH ConvolvePlace PlaceOf(uint32_t i) const {
    ConvolvePlace place;
    for (int axis = kMaxPoolAxes - 1; axis >= 0; --axis) {
      place.position[axis] = static_cast<int32_t>(i % static_cast<uint32_t>(SizeOfY(axis)));
      i /= static_cast<uint32_t>(SizeOfY(axis));
    }
    place.filter = i % convolve.filters;
    place.image = i / convolve.filters;
    place.group = place.filter / convolve.group_filters;
    place.within = place.filter % convolve.group_filters;
    return place;
  }

  // Offsets of the first element of x's plane, and of the first tap of w, for channel `c` of the group.
  AMP_BOTH int64_t FirstOfX(const ConvolvePlace& place, uint32_t c) const {
    const int64_t plane = static_cast<int64_t>(SizeOfX(0)) * SizeOfX(1) * SizeOfX(2);
    const int64_t channel = static_cast<int64_t>(place.group) * convolve.group_channels + c;
    return (place.image * static_cast<int64_t>(convolve.channels) + channel) * plane;
  }
  AMP_BOTH int64_t FirstOfW(const ConvolvePlace& place, uint32_t c) const {
    const int64_t taps =
        static_cast<int64_t>(convolve.axes[0].kernel) * convolve.axes[1].kernel * convolve.axes[2].kernel;
    const int64_t channel = static_cast<int64_t>(place.group) * convolve.group_channels + c;
    // w is [filters, channels of a group, ...], or transposed [channels, filters of a group, ...].
    const int64_t weights = convolve.is_transposed ? channel * convolve.group_filters + place.within
                                                   : static_cast<int64_t>(place.filter) * convolve.group_channels + c;
    return weights * taps;
  }

  // Calls visit(offset in the plane, index of the tap).
  template <typename Visit>
  AMP_BOTH void ForEachTap(const int32_t (&position)[kMaxPoolAxes], Visit visit) const {
    const PoolAxis* const axes = convolve.axes;
    for (int32_t d = 0; d < axes[0].kernel; ++d) {
      const int32_t slice = ReadByTap(axes[0], convolve.is_transposed, position[0], d);
      for (int32_t r = 0; r < axes[1].kernel && slice >= 0; ++r) {
        const int32_t row = ReadByTap(axes[1], convolve.is_transposed, position[1], r);
        for (int32_t c = 0; c < axes[2].kernel && row >= 0; ++c) {
          const int32_t column = ReadByTap(axes[2], convolve.is_transposed, position[2], c);
          if (column < 0) continue;
          visit((static_cast<int64_t>(slice) * SizeOfX(1) + row) * SizeOfX(2) + column,
                (static_cast<int64_t>(d) * axes[1].kernel + r) * axes[2].kernel + c);
        }
      }
    }
  }
};

template <typename T>
struct ConvolveBody {
  ConvolveArguments convolve;

  AMP_BOTH void operator()(uint32_t i) const {
    const ConvolveWalk walk{convolve};
    const ConvolvePlace place = walk.PlaceOf(i);
    float sum = 0;
    for (uint32_t c = 0; c < convolve.group_channels; ++c) {
      const T* const x = static_cast<const T*>(convolve.x) + walk.FirstOfX(place, c);
      const T* const w = static_cast<const T*>(convolve.w) + walk.FirstOfW(place, c);
      float of_channel = 0;
      walk.ForEachTap(place.position, [&](int64_t at, int64_t tap) { of_channel += Widen(x[at]) * Widen(w[tap]); });
      sum += of_channel;
    }
    if (convolve.bias != nullptr) sum += Widen(static_cast<const T*>(convolve.bias)[place.filter]);
    for (int32_t step = 0; step < convolve.num_steps; ++step) {
      sum = Apply(convolve.steps[step], convolve.storage, i, place.filter, sum);
    }
    StoreFloat(convolve.y, convolve.stored_as, i, sum);
  }
};

template <typename Runner>
int Start(Runner& runner, const ConvolveArguments& convolve) {
  return VisitFloat(convolve.storage, kBadArguments,
                    [&]<typename T>(Tag<T>) { return runner.ForEach(convolve.count, ConvolveBody<T>{convolve}); });
}

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_CONVOLUTION_H_
