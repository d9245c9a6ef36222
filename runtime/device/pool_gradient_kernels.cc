// ai.amp.MaxPoolGradient and ai.amp.AveragePoolGradient over images of up to three axes on a device. MaxPoolGradient
// runs the pool again to find where each window's largest element lies.
#include <algorithm>
#include <vector>

#include "ir/base/status.h"
#include "runtime/device/families.h"
#include "runtime/device/image_axes.h"
#include "runtime/device/raw/rows.h"
#include "runtime/device/raw/window_gradient.h"
#include "runtime/device/storage.h"
#include "runtime/forms/pool.h"

namespace amp {
namespace {

bool AreImages(const Dims& dims) {
  return dims.size() >= 3 && dims.size() <= 2 + device::kMaxPoolAxes &&
         std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim > 0; });
}

Refusal WhyNotWindow(const Window& window) {
  return std::all_of(window.begin(), window.end(), FitsDeviceAxis) ? nullptr : "windows that are too large";
}

// ---- largest elements -----------------------------------------------------------------------------------------------

Refusal WhyNotMax(const KernelContext& context) {
  const Tensor &x = context.Input(0), &g = context.Input(1);
  if (!IsDeviceFloat(x.dtype()) || !IsDeviceFloat(g.dtype())) return kNoDeviceFloat;
  if (!AreImages(x.dims())) return "no images of 1 to 3 axes";
  const absl::StatusOr<PoolForm> form = ReadPool(context.node(), SpatialDims(x));
  if (!form.ok()) return "a window that does not fit";
  if (const Refusal refusal = WhyNotWindow(form->window)) return refusal;
  return g.dims() == OutputDims(form->window, x.dim(0), x.dim(1)) ? nullptr : "another shape than the pool's result";
}

// Whether some window along the axis reads nothing but padding.
bool HasEmptyWindows(const WindowAxis& axis) {
  for (int64_t i = 0; i < axis.output; ++i) {
    const int64_t start = i * axis.stride - axis.pad_begin;
    const int64_t first = start >= 0 ? 0 : (-start + axis.dilation - 1) / axis.dilation;
    if (first >= axis.kernel || start + first * axis.dilation >= axis.input) return true;
  }
  return false;
}

// Returns the index in x of each window's largest element.
absl::StatusOr<Tensor> FindLargest(const KernelContext& context, const Window& window) {
  const Tensor &x = context.Input(0), &g = context.Input(1);
  AMP_ASSIGN_OR_RETURN(Tensor largest, context.MakeScratch(x.dtype(), g.dims()));
  AMP_ASSIGN_OR_RETURN(Tensor places, context.MakeScratch(DType::kInt64, g.dims()));
  device::PoolArguments pool = {.x = x.data(),
                                .y = largest.mutable_data(),
                                .storage = StorageOf(x.dtype()),
                                .count = CountOf(g),
                                .is_max = true,
                                .counts_padding = false,
                                .counts_by_columns = false,
                                .indices = static_cast<int64_t*>(places.mutable_data()),
                                .channels = 1,
                                .axes = {}};
  SetDeviceAxes(window, pool.axes);
  context.resources().device->Start(pool);
  return places;
}

absl::Status MaxPoolGradient(KernelContext& context) {
  context.Report("spread", DType::kFloat32);
  const Tensor &x = context.Input(0), &g = context.Input(1);
  AMP_ASSIGN_OR_RETURN(const PoolForm form, ReadPool(context.node(), SpatialDims(context.Input(0))));
  const Window& window = form.window;
  AMP_ASSIGN_OR_RETURN(Tensor * dx, context.MakeOutput(0, x.dtype(), x.dims()));
  AMP_ASSIGN_OR_RETURN(const Tensor largest, FindLargest(context, window));
  device::SpreadWindowsArguments spread = {
      .g = g.data(),
      .dx = dx->mutable_data(),
      .g_storage = StorageOf(g.dtype()),
      .dx_storage = StorageOf(x.dtype()),
      .count = CountOf(x),
      .largest = static_cast<const int64_t*>(largest.data()),
      .shares = nullptr,
      .num_shares = 0,
      .has_empty_windows = std::any_of(window.begin(), window.end(), HasEmptyWindows),
      .axes = {}};
  SetDeviceAxes(window, spread.axes);
  context.resources().device->Start(spread);
  return absl::OkStatus();
}

// ---- averages -------------------------------------------------------------------------------------------------------

constexpr size_t kAverageG = 0, kShare = 1, kShape = 2;

// The shape of x, and its windows, one for each element of g's images.
struct Average {
  Dims dims;
  Window window;
};

absl::StatusOr<Average> ReadAverage(const KernelContext& context) {
  const Dims& g = context.Input(kAverageG).dims();
  Average average;
  AMP_ASSIGN_OR_RETURN(average.dims, context.InputInts(kShape));
  const Dims& x = average.dims;
  if (!AreImages(x) || !AreImages(g) || x.size() != g.size() || x[0] != g[0] || x[1] != g[1]) {
    return Refusal("shapes that do not fit");
  }
  AMP_ASSIGN_OR_RETURN(average.window, ReadAveragedWindow(context.node(), x, g));
  return average;
}

Refusal WhyNotAverage(const KernelContext& context) {
  const Tensor &g = context.Input(kAverageG), &share = context.Input(kShare);
  if (!IsDeviceFloat(g.dtype()) || share.dtype() != DType::kFloat32) return kNoDeviceFloat;
  const absl::StatusOr<Average> average = ReadAverage(context);
  if (!average.ok()) return "shapes that do not fit";
  const bool is_number = share.num_elements() == 1,
             is_image = share.num_elements() * g.dim(0) * g.dim(1) == g.num_elements();
  return is_number || is_image ? WhyNotWindow(average->window) : "shares of another shape";
}

absl::Status AveragePoolGradient(KernelContext& context) {
  context.Report("spread", DType::kFloat32);
  const Tensor &g = context.Input(kAverageG), &share = context.Input(kShare);
  AMP_ASSIGN_OR_RETURN(const Average average, ReadAverage(context));
  AMP_ASSIGN_OR_RETURN(Tensor * dx, context.MakeOutput(0, g.dtype(), average.dims));
  device::SpreadWindowsArguments spread = {.g = g.data(),
                                           .dx = dx->mutable_data(),
                                           .g_storage = StorageOf(g.dtype()),
                                           .dx_storage = StorageOf(g.dtype()),
                                           .count = CountOf(*dx),
                                           .largest = nullptr,
                                           .shares = static_cast<const float*>(share.data()),
                                           .num_shares = CountOf(share),
                                           .has_empty_windows = false,
                                           .axes = {}};
  SetDeviceAxes(average.window, spread.axes);
  context.resources().device->Start(spread);
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    DeviceRow("AveragePoolGradient", AveragePoolGradient, WhyNotAverage, {kShape}, "ai.amp"),
    DeviceRow("MaxPoolGradient", MaxPoolGradient, WhyNotMax, {}, "ai.amp"),
};

}  // namespace

absl::Span<const KernelRow> PoolGradientDeviceKernels() { return kRows; }

}  // namespace amp
