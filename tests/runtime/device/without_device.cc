// OpenNamedDevice of a build without devices.
#include "ir/base/status.h"
#include "tests/runtime/device/named_device.h"

namespace amp {

absl::StatusOr<std::shared_ptr<Accelerator>> OpenNamedDevice(const std::string& name) {
  if (name == "cpu") return std::shared_ptr<Accelerator>();
  return UsageError("--device: expected cpu, as this was built without devices; found '", Escaped(name), "'");
}

}  // namespace amp
