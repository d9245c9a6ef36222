#include "runtime/device_run/use_device.h"

#include "absl/synchronization/mutex.h"
#include "runtime/device/accelerator.h"

namespace amp {

std::string DeviceName(const Accelerator& device) { return device.name(); }

absl::StatusOr<Tensor> CopyToDevice(Accelerator& device, const Tensor& tensor) {
  const absl::ReaderMutexLock turn(&device.order());
  return device.CopyIn(tensor, nullptr);
}

absl::StatusOr<Tensor> CopyFromDevice(Accelerator& device, const Tensor& tensor) {
  const absl::ReaderMutexLock turn(&device.order());
  return device.CopyOut(tensor, nullptr);
}

absl::Status CopyOnto(Accelerator& device, const Tensor& from, Tensor& to) {
  const absl::ReaderMutexLock turn(&device.order());
  return device.CopyInto(from, to);
}

std::string CopiesText(const Accelerator* device) { return device == nullptr ? "" : device->CopiesText(); }

std::vector<std::string> TakeWarnings(Accelerator* device) {
  return device == nullptr ? std::vector<std::string>() : device->TakeWarnings();
}

void UseChoices(Accelerator& device, const device::Choices* choices) { device.UseChoices(choices); }

absl::Status JoinRanks(Accelerator& device, RankGroup& ranks) { return device.JoinRanks(ranks); }

std::string RanksText(const Accelerator* device) { return device == nullptr ? "" : device->ranks_text(); }

}  // namespace amp
