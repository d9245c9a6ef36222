// The largest and smallest elements of rows on a device: ArgMax, ArgMin, TopK.
#include <algorithm>
#include <optional>

#include "ir/base/status.h"
#include "runtime/device/families.h"
#include "runtime/device/raw/select.h"
#include "runtime/device/storage.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

device::SelectRows RowsOf(const Tensor& x, const AxisView& view) {
  return {.x = x.data(),
          .storage = StorageOf(x.dtype()),
          .rows = static_cast<uint32_t>(view.rows()),
          .size = static_cast<uint32_t>(view.size),
          .inner = static_cast<uint32_t>(view.inner)};
}

const char* WhyNotRows(const KernelContext& context, int64_t axis) {
  const Tensor& x = context.Input(0);
  if (x.num_elements() == 0) return "no elements";
  return NormalizeAxis(axis, x.rank()).ok() ? nullptr : "an axis that the input does not have";
}

// ---- ArgMax, ArgMin -------------------------------------------------------------------------------------------------

const char* WhyNotExtreme(const KernelContext& context) {
  if (!IsDeviceFloat(context.Input(0).dtype())) return kNoDeviceFloat;
  return WhyNotRows(context, GetInt(context.node(), "axis", 0));
}

template <device::Extreme kFirst, device::Extreme kLast>
absl::Status FindExtreme(KernelContext& context) {
  context.Report("find extremes", DType::kFloat32);
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const size_t axis, NormalizeAxis(GetInt(context.node(), "axis", 0), x.rank()));
  const AxisView view(x.dims(), axis);
  Dims dims = x.dims();
  dims[axis] = 1;
  if (GetInt(context.node(), "keepdims", 1) == 0) dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  AMP_ASSIGN_OR_RETURN(Tensor * places, context.MakeOutput(0, DType::kInt64, std::move(dims)));
  const bool takes_last = GetInt(context.node(), "select_last_index", 0) != 0;
  context.resources().device->Start(
      device::FindExtremesArguments{.from = RowsOf(x, view),
                                    .places = static_cast<int64_t*>(places->mutable_data()),
                                    .extreme = takes_last ? kLast : kFirst});
  return absl::OkStatus();
}

// ---- TopK -----------------------------------------------------------------------------------------------------------

constexpr int kCountIsInput = 10;

std::optional<int64_t> NumWanted(const KernelContext& context) {
  if (context.version() < kCountIsInput) return GetInt(context.node(), "k");
  const absl::StatusOr<int64_t> k = context.InputInt(1);
  return k.ok() ? std::optional(*k) : std::nullopt;
}

const char* WhyNotTop(const KernelContext& context) {
  const int64_t axis = GetInt(context.node(), "axis", -1);
  if (const char* reason = WhyNotRows(context, axis)) return reason;
  const std::optional<int64_t> k = NumWanted(context);
  const DType dtype = context.Input(0).dtype();
  const int64_t size = context.Input(0).dim(*NormalizeAxis(axis, context.Input(0).rank()));
  const bool is_integer = dtype == DType::kInt32 || dtype == DType::kInt64;
  if (!IsDeviceFloat(dtype) && !is_integer) return "another type than floats, int32 and int64";
  if (is_integer && size > device::kShortRow) return "long rows of integers";
  return k.has_value() && *k >= 0 && *k <= size ? nullptr : "another number of elements than there are";
}

absl::Status Top(KernelContext& context) {
  context.Report("select top", DType::kFloat32);
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const size_t axis, NormalizeAxis(GetInt(context.node(), "axis", -1), x.rank()));
  Dims dims = x.dims();
  dims[axis] = *NumWanted(context);
  AMP_ASSIGN_OR_RETURN(Tensor * values, context.MakeOutput(0, x.dtype(), dims));
  AMP_ASSIGN_OR_RETURN(Tensor places, Tensor::Create(DType::kInt64, dims, context.memory()));
  if (places.num_elements() > 0) {
    context.resources().device->Start(
        device::SelectTopArguments{.from = RowsOf(x, AxisView(x.dims(), axis)),
                                   .values = values->mutable_data(),
                                   .places = static_cast<int64_t*>(places.mutable_data()),
                                   .k = static_cast<uint32_t>(dims[axis]),
                                   .is_largest = GetInt(context.node(), "largest", 1) != 0});
  }
  context.SetOutput(1, std::move(places));
  return absl::OkStatus();
}

using device::Extreme;

constexpr KernelRow kRows[] = {
    DeviceRow("ArgMax", FindExtreme<Extreme::kFirstLargest, Extreme::kLastLargest>, WhyNotExtreme),
    DeviceRow("ArgMin", FindExtreme<Extreme::kFirstSmallest, Extreme::kLastSmallest>, WhyNotExtreme),
    DeviceRow("TopK", Top, WhyNotTop, {1}),
};

}  // namespace

absl::Span<const KernelRow> SelectDeviceKernels() { return kRows; }

}  // namespace amp
