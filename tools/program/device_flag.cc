#include "tools/program/device_flag.h"

#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/file/low_type.h"
#include "runtime/hardware/compatibility.h"

namespace amp {

absl::StatusOr<std::shared_ptr<Accelerator>> OpenFlaggedDevice(std::optional<int> ordinal, const DeviceOpener& open) {
  if (!ordinal.has_value()) return std::shared_ptr<Accelerator>();
  absl::StatusOr<std::shared_ptr<Accelerator>> device = open(*ordinal);
  if (!device.ok()) return InFile(absl::StrCat("--device cuda:", *ordinal), device.status());
  return device;
}

ChosenDevice ChooseDevice(const DeviceChoice& choice, const DeviceHost& host, const std::string& model,
                          const Limits& limits) {
  if (!choice.is_auto) return {.ordinal = choice.ordinal, .note = ""};
  const Hardware usable = host.detect();
  const DType low = LowTypeOfFile(model, limits).value_or(ChooseLowType(usable));
  const std::optional<Gpu> gpu = ChooseGpu(usable, low);
  if (!gpu.has_value()) return {};
  return {.ordinal = gpu->ordinal,
          .note = absl::StrCat("--device auto: cuda:", gpu->ordinal, ", ", Escaped(gpu->name))};
}

}  // namespace amp
