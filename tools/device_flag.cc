#include "tools/device_flag.h"

#include "absl/strings/str_cat.h"
#include "ir/base/status.h"

namespace amp {

absl::StatusOr<std::shared_ptr<Accelerator>> OpenFlaggedDevice(std::optional<int> ordinal, const DeviceOpener& open) {
  if (!ordinal.has_value()) return std::shared_ptr<Accelerator>();
  absl::StatusOr<std::shared_ptr<Accelerator>> device = open(*ordinal);
  if (!device.ok()) return InFile(absl::StrCat("--device cuda:", *ordinal), device.status());
  return device;
}

}  // namespace amp
