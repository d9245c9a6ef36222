#include "tests/runtime/device/named_device.h"

#include "ir/base/status.h"
#include "tests/runtime/device/fake_device.h"

namespace amp {

absl::StatusOr<std::shared_ptr<Accelerator>> OpenNamedDevice(const std::string& name) {
  if (name == "cpu") return std::shared_ptr<Accelerator>();
  if (name == "double") return OpenFakeDevice();
  if (name == "cuda") return OpenCudaDevice(0);
  return UsageError("--device: expected cpu, double or cuda, found '", Escaped(name), "'");
}

}  // namespace amp
