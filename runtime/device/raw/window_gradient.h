// Gradients of operators that slide windows over images: of a convolution's weights, and of a pool's input. A thread,
// or a team of threads, computes each element of the result, so that no two threads add to one element.
#ifndef AMP_RUNTIME_DEVICE_RAW_WINDOW_GRADIENT_H_
#define AMP_RUNTIME_DEVICE_RAW_WINDOW_GRADIENT_H_

#include <cstdint>

#include "runtime/device/raw/convolution.h"
#include "runtime/device/raw/element.h"
#include "runtime/device/raw/kernels.h"
#include "runtime/device/raw/rows.h"

namespace amp::device {

// ---- weights of a convolution ---------------------------------------------------------------------------------------

// Computes dw[filter, c, tap] = sum over images and positions of x[image, channel, position + tap] * g[image, filter,
// position].
struct ConvolveForWeightsArguments {
  static constexpr Kernel kKernel = Kernel::kConvolveForWeights;
  const void *x, *g;
  float* dw;
  Storage x_storage, g_storage;
  uint32_t count;                     // of dw
  uint32_t batch, channels, filters;  // of x, of g
  uint32_t group_channels, group_filters;
  PoolAxis axes[kMaxPoolAxes];  // `output`: the size of g
};

struct ConvolveForWeightsBody {
  ConvolveForWeightsArguments convolve;

  template <typename Team>
  AMP_BOTH void operator()(uint32_t i, Team& team) const {
    const PoolAxis &depth = convolve.axes[0], &height = convolve.axes[1], &width = convolve.axes[2];
    uint32_t rest = i;
    const auto along = [&rest](uint32_t size) {
      const auto index = static_cast<int32_t>(rest % size);
      rest /= size;
      return index;
    };
    const int32_t column_tap = along(static_cast<uint32_t>(width.kernel));
    const int32_t row_tap = along(static_cast<uint32_t>(height.kernel));
    const int32_t slice_tap = along(static_cast<uint32_t>(depth.kernel));
    const uint32_t within = rest % convolve.group_channels, filter = rest / convolve.group_channels;
    const uint32_t channel = filter / convolve.group_filters * convolve.group_channels + within;
    const auto positions = static_cast<uint32_t>(depth.output * height.output * width.output);
    const float sum = team.Sum(convolve.batch * positions, [=, this](uint32_t each) {
      const uint32_t image = each / positions, position = each % positions;
      const PoolAxis* const axes = convolve.axes;
      const auto columns = static_cast<uint32_t>(axes[2].output), rows = static_cast<uint32_t>(axes[1].output);
      const int32_t column = ReadByTap(axes[2], false, static_cast<int32_t>(position % columns), column_tap);
      const int32_t row = ReadByTap(axes[1], false, static_cast<int32_t>(position / columns % rows), row_tap);
      const int32_t slice = ReadByTap(axes[0], false, static_cast<int32_t>(position / columns / rows), slice_tap);
      if (column < 0 || row < 0 || slice < 0) return 0.0f;
      const int64_t plane = static_cast<int64_t>(image) * convolve.channels + channel;
      const int64_t at =
          ((plane * axes[0].input + slice) * axes[1].input + row) * static_cast<int64_t>(axes[2].input) + column;
      const int64_t of_g = (static_cast<int64_t>(image) * convolve.filters + filter) * positions + position;
      return LoadFloat(convolve.x, convolve.x_storage, at) * LoadFloat(convolve.g, convolve.g_storage, of_g);
    });
    if (team.IsFirst()) convolve.dw[i] = sum;
  }
};

template <typename Runner>
int Start(Runner& runner, const ConvolveForWeightsArguments& convolve) {
  return runner.ForRows(convolve.count, ConvolveForWeightsBody{convolve});
}

// ---- inputs of pools ------------------------------------------------------------------------------------------------

// Computes dx[i] = the sum of g over the windows that read element i: by their shares, or over those whose largest
// element it is.
struct SpreadWindowsArguments {
  static constexpr Kernel kKernel = Kernel::kSpreadWindows;
  const void* g;
  void* dx;
  Storage g_storage, dx_storage;
  uint32_t count;          // of dx
  const int64_t* largest;  // by window, an index in the whole of dx; null: windows give to all elements that they read
  const float* shares;     // by window of a plane, or one for all; null: 1
  uint32_t num_shares;
  bool has_empty_windows;  // some windows read nothing but padding; they give to the first element of their plane
  PoolAxis axes[kMaxPoolAxes];
};

struct SpreadWindowsBody {
  SpreadWindowsArguments spread;

  // Returns what a window gives to element `i`. `first`: number of the plane's first window; `window`: number in the
  // plane.
  AMP_BOTH float ShareOf(int64_t first, int64_t window, uint32_t i) const {
    if (spread.largest != nullptr && spread.largest[first + window] != static_cast<int64_t>(i)) return 0;
    const float g = LoadFloat(spread.g, spread.g_storage, first + window);
    return spread.shares == nullptr ? g : g * spread.shares[spread.num_shares == 1 ? 0 : window];
  }

  // Sums over all windows of a plane, for the plane's first element, to which empty windows may give.
  AMP_BOTH float SumOfAll(int64_t first, int64_t windows, uint32_t i) const {
    float sum = 0;
    for (int64_t window = 0; window < windows; ++window) sum += ShareOf(first, window, i);
    return sum;
  }

  AMP_BOTH void operator()(uint32_t i) const {
    const PoolAxis* const axes = spread.axes;
    uint32_t rest = i;
    int32_t place[kMaxPoolAxes];
    for (int axis = kMaxPoolAxes - 1; axis >= 0; --axis) {
      place[axis] = static_cast<int32_t>(rest % static_cast<uint32_t>(axes[axis].input));
      rest /= static_cast<uint32_t>(axes[axis].input);
    }
    const int64_t windows = static_cast<int64_t>(axes[0].output) * axes[1].output * axes[2].output;
    const int64_t first = rest * windows;
    float sum = 0;
    if (spread.has_empty_windows && place[0] == 0 && place[1] == 0 && place[2] == 0) {
      sum = SumOfAll(first, windows, i);
    } else {
      for (int32_t d = 0; d < axes[0].kernel; ++d) {
        const int32_t slice = ReadByTap(axes[0], true, place[0], d);
        for (int32_t r = 0; r < axes[1].kernel && slice >= 0; ++r) {
          const int32_t row = ReadByTap(axes[1], true, place[1], r);
          for (int32_t c = 0; c < axes[2].kernel && row >= 0; ++c) {
            const int32_t column = ReadByTap(axes[2], true, place[2], c);
            if (column < 0) continue;
            const int64_t window = (static_cast<int64_t>(slice) * axes[1].output + row) * axes[2].output + column;
            sum += ShareOf(first, window, i);
          }
        }
      }
    }
    StoreFloat(spread.dx, spread.dx_storage, i, sum);
  }
};

template <typename Runner>
int Start(Runner& runner, const SpreadWindowsArguments& spread) {
  return runner.ForEach(spread.count, SpreadWindowsBody{spread});
}

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_WINDOW_GRADIENT_H_
