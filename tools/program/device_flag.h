// The device that --device names, or chooses.
#ifndef AMP_TOOLS_PROGRAM_DEVICE_FLAG_H_
#define AMP_TOOLS_PROGRAM_DEVICE_FLAG_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "ir/base/limits.h"
#include "runtime/device_run/open_device.h"
#include "runtime/hardware/hardware.h"
#include "tools/library/flag_words.h"

namespace amp {

using DeviceOpener = std::function<absl::StatusOr<std::shared_ptr<Accelerator>>(int ordinal)>;

// The devices of the machine that the program runs on.
struct DeviceHost {
  DeviceOpener open = OpenCudaDevice;
  std::function<Hardware()> detect = [] { return UsableHardware(DetectHardware()); };
};

// Opens the device of this number; null, the processor, without a number. Errors: those of the opener, with the flag. A
// device that cannot be used is an error, never replaced by another.
absl::StatusOr<std::shared_ptr<Accelerator>> OpenFlaggedDevice(std::optional<int> ordinal, const DeviceOpener& open);

struct ChosenDevice {
  std::optional<int> ordinal;  // nothing: the processor
  std::string note;            // where auto took a GPU: "--device auto: cuda:0, NVIDIA H200"
};
// Chooses the device. For auto it is what amp-rewrite --target auto names, for the model's 16-bit type or, without one,
// for that of --dtype auto.
ChosenDevice ChooseDevice(const DeviceChoice& choice, const DeviceHost& host, const std::string& model,
                          const Limits& limits);

}  // namespace amp

#endif  // AMP_TOOLS_PROGRAM_DEVICE_FLAG_H_
