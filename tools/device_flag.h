// The device that --device names.
#ifndef AMP_TOOLS_DEVICE_FLAG_H_
#define AMP_TOOLS_DEVICE_FLAG_H_

#include <functional>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "runtime/device/accelerator.h"

namespace amp {

using DeviceOpener = std::function<absl::StatusOr<std::shared_ptr<Accelerator>>(int ordinal)>;

// Null without a number: the processor. Errors: those of the opener, with the flag: what cannot be used is an error, never
// another device.
absl::StatusOr<std::shared_ptr<Accelerator>> OpenFlaggedDevice(std::optional<int> ordinal, const DeviceOpener& open);

}  // namespace amp

#endif  // AMP_TOOLS_DEVICE_FLAG_H_
