// The largest and smallest elements of rows on a device: ArgMax, ArgMin, TopK.
#include <utility>

#include "ir/base/status.h"
#include "runtime/device/families.h"
#include "runtime/device/raw/select.h"
#include "runtime/device/storage.h"
#include "runtime/forms/select.h"
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

// ---- ArgMax, ArgMin -------------------------------------------------------------------------------------------------

Refusal WhyNotExtreme(const KernelContext& context) {
  if (!IsDeviceFloat(context.Input(0).dtype())) return kNoDeviceFloat;
  if (context.Input(0).num_elements() == 0) return "no elements";
  return ReadExtreme(context).ok() ? nullptr : "an axis that the input does not have";
}

template <device::Extreme kFirst, device::Extreme kLast>
absl::Status FindExtreme(KernelContext& context) {
  context.Report("find extremes", DType::kFloat32);
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const ExtremeForm form, ReadExtreme(context));
  AMP_ASSIGN_OR_RETURN(Tensor * places, context.MakeOutput(0, DType::kInt64, form.dims));
  context.resources().device->Start(
      device::FindExtremesArguments{.from = RowsOf(x, AxisView(x.dims(), form.axis)),
                                    .places = static_cast<int64_t*>(places->mutable_data()),
                                    .extreme = form.takes_last ? kLast : kFirst});
  return absl::OkStatus();
}

// ---- TopK -----------------------------------------------------------------------------------------------------------

Refusal WhyNotTop(const KernelContext& context) {
  const Tensor& x = context.Input(0);
  if (x.num_elements() == 0) return "no elements";
  const absl::StatusOr<TopForm> form = ReadTop(context);
  if (!form.ok()) return "an axis or a number of elements that does not fit";
  const DType dtype = x.dtype();
  const bool is_integer = dtype == DType::kInt32 || dtype == DType::kInt64;
  if (!IsDeviceFloat(dtype) && !is_integer) return "another type than floats, int32 and int64";
  return is_integer && x.dim(form->axis) > device::kShortRow ? "long rows of integers" : nullptr;
}

absl::Status Top(KernelContext& context) {
  context.Report("select top", DType::kFloat32);
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const TopForm form, ReadTop(context));
  Dims dims = x.dims();
  dims[form.axis] = form.k;
  AMP_ASSIGN_OR_RETURN(Tensor * values, context.MakeOutput(0, x.dtype(), dims));
  AMP_ASSIGN_OR_RETURN(Tensor places, Tensor::Create(DType::kInt64, dims, context.memory()));
  if (places.num_elements() > 0) {
    context.resources().device->Start(device::SelectTopArguments{.from = RowsOf(x, AxisView(x.dims(), form.axis)),
                                                                 .values = values->mutable_data(),
                                                                 .places = static_cast<int64_t*>(places.mutable_data()),
                                                                 .k = static_cast<uint32_t>(form.k),
                                                                 .is_largest = form.is_largest});
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
