// Stubs for a build without devices (CMake's AMP_WITH_DEVICE): none can be opened, so the other functions are never
// called.
#include "ir/base/status.h"
#include "runtime/device_run/device_rows.h"
#include "runtime/device_run/open_device.h"
#include "runtime/device_run/use_device.h"
#include "runtime/run/session_device.h"

namespace amp {
namespace {

absl::Status NoDevice() { return DeviceError("built without devices (CMake's AMP_WITH_DEVICE)"); }

}  // namespace

absl::StatusOr<std::shared_ptr<Accelerator>> OpenCudaDevice(int) { return NoDevice(); }
absl::Status CheckCudaDevice(const Hardware&, int) { return NoDevice(); }
Hardware UsableHardware(Hardware hardware) {
  hardware.gpus.clear();
  if (hardware.no_gpu_why.empty()) hardware.no_gpu_why = std::string(NoDevice().message());
  return hardware;
}

std::unique_ptr<SessionDevice> MakeSessionDevice(const SessionOptions&) { return nullptr; }

std::string DeviceName(const Accelerator&) { return ""; }
absl::StatusOr<Tensor> CopyToDevice(Accelerator&, const Tensor&) { return NoDevice(); }
absl::StatusOr<Tensor> CopyFromDevice(Accelerator&, const Tensor&) { return NoDevice(); }
absl::Status CopyOnto(Accelerator&, const Tensor&, Tensor&) { return NoDevice(); }
std::string CopiesText(const Accelerator*) { return ""; }
std::vector<std::string> TakeWarnings(Accelerator*) { return {}; }
void UseChoices(Accelerator&, const device::Choices*) {}
absl::Status JoinRanks(Accelerator&, RankGroup&) { return NoDevice(); }
std::string RanksText(const Accelerator*) { return ""; }

// NOLINTNEXTLINE(performance-unnecessary-value-param): as it is declared
absl::StatusOr<std::shared_ptr<DeviceRows>> DeviceRows::Create(Accelerator&, const Tensor&, Dims,
                                                               std::optional<float>) {
  return NoDevice();
}
absl::StatusOr<Tensor> DeviceRows::Batch(absl::Span<const int64_t>) { return NoDevice(); }

}  // namespace amp
