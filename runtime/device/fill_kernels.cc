// ConstantOfShape on a device, and Dropout that drops nothing; its mask is a constant, too.
#include <memory>
#include <utility>

#include "ir/base/status.h"
#include "runtime/device/families.h"
#include "runtime/device/raw/move.h"
#include "runtime/device/storage.h"
#include "runtime/forms/dropout.h"
#include "runtime/forms/fill_value.h"
#include "runtime/kernel/doubles.h"

namespace amp {
namespace {

// Fills y with the only element of `value`, which has y's type.
absl::Status Fill(Accelerator& device, const Tensor& value, Tensor& y) {
  if (y.num_elements() == 0) return absl::OkStatus();
  AMP_ASSIGN_OR_RETURN(const std::shared_ptr<const void> shared, ShareList(device, value.bytes()));
  device.Start(device::CopyStridedArguments{.from = shared.get(),
                                            .to = y.mutable_data(),
                                            .count = CountOf(y),
                                            .element_bytes = ElementBytes(y.dtype()),
                                            .start = 0,
                                            .shape = {}});
  return absl::OkStatus();
}

// ---- ConstantOfShape ------------------------------------------------------------------------------------------------

Refusal WhyNotFill(const KernelContext& context) {
  const absl::StatusOr<Tensor> value = ReadFillValue(context);
  if (!value.ok()) return "a value that does not fit";
  const size_t bytes = value->dtype() == DType::kString ? 0 : ElementBytes(value->dtype());
  const bool fits = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
  return fits ? nullptr : "elements of another size than 1, 2, 4 or 8 bytes";
}

absl::Status ConstantOfShape(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(Dims dims, context.InputInts(0));
  AMP_ASSIGN_OR_RETURN(const Tensor value, ReadFillValue(context));
  context.Report("move", value.dtype());
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, value.dtype(), std::move(dims)));
  return Fill(*context.resources().device, value, *y);
}

// ---- Dropout --------------------------------------------------------------------------------------------------------

constexpr size_t kRatio = 1, kTraining = 2, kMask = 1;

Refusal WhyNotDropout(const KernelContext& context) {
  if (!IsDeviceFloat(context.Input(0).dtype())) return kNoDeviceFloat;
  const absl::StatusOr<DropoutForm> form = ReadDropout(context);
  return form.ok() && !form->drops ? nullptr : "training";
}

absl::Status Dropout(KernelContext& context) {
  const Tensor& x = context.Input(0);
  context.Report("move", x.dtype());
  context.SetOutput(0, x);
  if (!context.HasOutput(kMask)) return absl::OkStatus();
  const DType dtype = ReadDropoutMaskType(context);
  Tensor kept = Tensor::Scalar(true);
  if (dtype != DType::kBool) {
    AMP_ASSIGN_OR_RETURN(kept, Tensor::Create(dtype, {}));
    AMP_RETURN_IF_ERROR(WriteDoubles({1}, kept));
  }
  AMP_ASSIGN_OR_RETURN(Tensor * mask, context.MakeOutput(kMask, dtype, x.dims()));
  return Fill(*context.resources().device, kept, *mask);
}

constexpr KernelRow kRows[] = {
    DeviceRow("ConstantOfShape", ConstantOfShape, WhyNotFill, {0}),
    DeviceRow("Dropout", Dropout, WhyNotDropout, {kRatio, kTraining}),
};

}  // namespace

absl::Span<const KernelRow> FillDeviceKernels() { return kRows; }

}  // namespace amp
