#include "runtime/device/image_axes.h"

#include <algorithm>
#include <limits>

namespace amp {
namespace {

device::PoolAxis AxisOf(const WindowAxis& axis) {
  return {.input = static_cast<int32_t>(axis.input),
          .output = static_cast<int32_t>(axis.output),
          .kernel = static_cast<int32_t>(axis.kernel),
          .stride = static_cast<int32_t>(axis.stride),
          .dilation = static_cast<int32_t>(axis.dilation),
          .pad_begin = static_cast<int32_t>(axis.pad_begin),
          .pad_end = static_cast<int32_t>(axis.pad_end)};
}

}  // namespace

bool FitsDeviceAxis(const WindowAxis& axis) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() / 4;
  return std::max({axis.input, axis.output, axis.pad_begin, axis.pad_end, axis.stride}) <= kMost &&
         axis.output * axis.stride <= kMost && axis.kernel * axis.dilation <= kMost;
}

void SetDeviceAxes(const Window& window, device::PoolAxis (&axes)[device::kMaxPoolAxes]) {
  constexpr WindowAxis kOne = {
      .input = 1, .kernel = 1, .stride = 1, .dilation = 1, .pad_begin = 0, .pad_end = 0, .output = 1};
  const size_t missing = device::kMaxPoolAxes - window.size();
  for (size_t i = 0; i < device::kMaxPoolAxes; ++i) axes[i] = AxisOf(i < missing ? kOne : window[i - missing]);
}

}  // namespace amp
