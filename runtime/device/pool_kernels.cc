// MaxPool and AveragePool over images of up to three axes on a device.
#include <algorithm>
#include <limits>
#include <vector>

#include "ir/base/status.h"
#include "runtime/device/families.h"
#include "runtime/device/raw/rows.h"
#include "runtime/device/storage.h"
#include "runtime/reference/window.h"

namespace amp {
namespace {

absl::StatusOr<Window> PoolWindow(const KernelContext& context) {
  const std::vector<int64_t> kernel = GetInts(context.node(), "kernel_shape").value_or(std::vector<int64_t>());
  return SlideWindow(context.node(), SpatialDims(context.Input(0)), kernel);
}

// Places are counted in 32 bits along an axis.
bool FitsAxis(const WindowAxis& axis) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() / 4;
  return std::max({axis.input, axis.output, axis.pad_begin, axis.pad_end}) <= kMost &&
         axis.output * axis.stride <= kMost && axis.kernel * axis.dilation <= kMost;
}

const char* WhyNot(const KernelContext& context) {
  const Tensor& x = context.Input(0);
  if (!IsDeviceFloat(x.dtype())) return kNoDeviceFloat;
  if (context.HasOutput(1)) return "indices";
  if (x.rank() < 3 || x.rank() > 2 + device::kMaxPoolAxes || x.num_elements() == 0) return "no images of 1 to 3 axes";
  const absl::StatusOr<Window> window = PoolWindow(context);
  if (!window.ok()) return "a window that does not fit";
  return std::all_of(window->begin(), window->end(), FitsAxis) ? nullptr : "windows that are too large";
}

device::PoolAxis AxisOf(const WindowAxis& axis) {
  return {.input = static_cast<int32_t>(axis.input),
          .output = static_cast<int32_t>(axis.output),
          .kernel = static_cast<int32_t>(axis.kernel),
          .stride = static_cast<int32_t>(axis.stride),
          .dilation = static_cast<int32_t>(axis.dilation),
          .pad_begin = static_cast<int32_t>(axis.pad_begin),
          .pad_end = static_cast<int32_t>(axis.pad_end)};
}

enum class Kind { kMax, kAverage };

template <Kind kKind>
absl::Status Pool(KernelContext& context) {
  context.Report("pool", DType::kFloat32);
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const Window window, PoolWindow(context));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), OutputDims(window, x.dim(0), x.dim(1))));
  if (y->num_elements() == 0) return absl::OkStatus();
  device::PoolArguments pool = {.x = x.data(),
                                .y = y->mutable_data(),
                                .storage = StorageOf(x.dtype()),
                                .count = CountOf(*y),
                                .is_max = kKind == Kind::kMax,
                                .counts_padding = GetInt(context.node(), "count_include_pad", 0) != 0,
                                .axes = {}};
  const size_t missing = device::kMaxPoolAxes - window.size();
  for (size_t i = 0; i < device::kMaxPoolAxes; ++i) {
    const WindowAxis one = {.input = 1, .kernel = 1, .stride = 1, .dilation = 1, .output = 1};
    pool.axes[i] = AxisOf(i < missing ? one : window[i - missing]);
  }
  context.resources().device->Start(pool);
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    DeviceRow("AveragePool", Pool<Kind::kAverage>, WhyNot),
    DeviceRow("MaxPool", Pool<Kind::kMax>, WhyNot),
};

}  // namespace

absl::Span<const KernelRow> PoolDeviceKernels() { return kRows; }

}  // namespace amp
