// ConstantOfShape on a device: one element, which all others are.
#include <memory>
#include <utility>

#include "ir/base/status.h"
#include "runtime/device/families.h"
#include "runtime/device/raw/move.h"
#include "runtime/device/storage.h"
#include "runtime/reference/fill_value.h"

namespace amp {
namespace {

const char* WhyNotFill(const KernelContext& context) {
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
  if (y->num_elements() == 0) return absl::OkStatus();
  Accelerator& device = *context.resources().device;
  AMP_ASSIGN_OR_RETURN(const std::shared_ptr<const void> shared, ShareList(device, value.bytes()));
  device.Start(device::CopyStridedArguments{.from = shared.get(),
                                            .to = y->mutable_data(),
                                            .count = CountOf(*y),
                                            .element_bytes = ElementBytes(y->dtype()),
                                            .start = 0,
                                            .shape = {}});
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {DeviceRow("ConstantOfShape", ConstantOfShape, WhyNotFill, {0})};

}  // namespace

absl::Span<const KernelRow> FillDeviceKernels() { return kRows; }

}  // namespace amp
