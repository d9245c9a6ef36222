// What the owner of a session asks of its device, without its header.
#ifndef AMP_RUNTIME_DEVICE_RUN_USE_DEVICE_H_
#define AMP_RUNTIME_DEVICE_RUN_USE_DEVICE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/kernel/tensor.h"

namespace amp {

class Accelerator;
class Reduction;
namespace device {
struct Choices;
}

// "cuda:0"
std::string DeviceName(const Accelerator& device);

// The tensor in the other memory. Errors: kResourceExhausted; kAborted, what failed on the device before.
absl::StatusOr<Tensor> CopyToDevice(Accelerator& device, const Tensor& tensor);
absl::StatusOr<Tensor> CopyFromDevice(Accelerator& device, const Tensor& tensor);
// REQUIRES: `to` lies on the device, and has the type, dims and layout of `from`.
absl::Status CopyOnto(Accelerator& device, const Tensor& from, Tensor& to);

// How large copies between both memories go; empty without a device, or where there was none.
std::string CopiesText(const Accelerator* device);
// What whoever runs a model should know, and has not been told: a line each. None without a device.
std::vector<std::string> TakeWarnings(Accelerator* device);

// From here on the device's libraries time what they are asked for first, and keep what was fastest there; null: as
// before. REQUIRES: the choices live until others, or null, are used.
void UseChoices(Accelerator& device, const device::Choices* choices);

// Means over ranks are computed by their devices. All ranks call it with one device each. Errors, the same on all ranks:
// kUnimplemented, one of them has no library for it, or it does not join them; what the reduction says.
absl::Status JoinRanks(Accelerator& device, Reduction& reduction);
// The library that joined them; empty without a device, or where nothing did.
std::string RanksText(const Accelerator* device);

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_RUN_USE_DEVICE_H_
