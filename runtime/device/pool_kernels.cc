// MaxPool and AveragePool over images of up to three axes on a device.
#include <algorithm>
#include <vector>

#include "ir/base/status.h"
#include "runtime/device/families.h"
#include "runtime/device/image_axes.h"
#include "runtime/device/raw/rows.h"
#include "runtime/device/storage.h"
#include "runtime/forms/pool.h"
#include "runtime/kernel/layout.h"

namespace amp {
namespace {

Refusal WhyNot(const KernelContext& context) {
  const Tensor& x = context.Input(0);
  if (!IsDeviceFloat(x.dtype())) return kNoDeviceFloat;
  if (x.rank() < 3 || x.rank() > 2 + device::kMaxPoolAxes || x.num_elements() == 0) return "no images of 1 to 3 axes";
  const absl::StatusOr<PoolForm> form = ReadPool(context.node(), SpatialDims(x));
  if (!form.ok()) return "a window that does not fit";
  return std::all_of(form->window.begin(), form->window.end(), FitsDeviceAxis) ? nullptr : "windows that are too large";
}

enum class Kind { kMax, kAverage };

template <Kind kKind>
absl::Status Pool(KernelContext& context) {
  context.Report("pool", DType::kFloat32);
  // Indices refer to row-major elements.
  const Layout layout = context.HasOutput(1) ? Layout::kRowMajor : context.Input(0).layout();
  AMP_ASSIGN_OR_RETURN(const Tensor x, InLayout(context.Input(0), layout, context.memory()));
  AMP_ASSIGN_OR_RETURN(const PoolForm form, ReadPool(context.node(), SpatialDims(x)));
  const Window& window = form.window;
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), OutputDims(window, x.dim(0), x.dim(1))));
  y->set_layout(layout);
  if (y->num_elements() == 0) return absl::OkStatus();
  device::PoolArguments pool = {.x = x.data(),
                                .y = y->mutable_data(),
                                .storage = StorageOf(x.dtype()),
                                .count = CountOf(*y),
                                .is_max = kKind == Kind::kMax,
                                .counts_padding = form.counts_padding,
                                .counts_by_columns = form.counts_by_columns,
                                .indices = nullptr,
                                .channels = layout == Layout::kRowMajor ? 1 : static_cast<uint32_t>(x.dim(1)),
                                .axes = {}};
  if (context.HasOutput(1)) {
    AMP_ASSIGN_OR_RETURN(Tensor * indices, context.MakeOutput(1, DType::kInt64, y->dims()));
    pool.indices = static_cast<int64_t*>(indices->mutable_data());
  }
  SetDeviceAxes(window, pool.axes);
  context.resources().device->Start(pool);
  return absl::OkStatus();
}

constexpr KernelRow Row(absl::string_view op_type, KernelFunction function) {
  KernelRow row = DeviceRow(op_type, function, WhyNot);
  row.takes_channels_last = true;
  return row;
}
constexpr KernelRow kRows[] = {Row("AveragePool", Pool<Kind::kAverage>), Row("MaxPool", Pool<Kind::kMax>)};

}  // namespace

absl::Span<const KernelRow> PoolDeviceKernels() { return kRows; }

}  // namespace amp
