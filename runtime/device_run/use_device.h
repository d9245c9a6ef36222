// Functions that the owner of a session calls on its device, without including the device's header.
#ifndef AMP_RUNTIME_DEVICE_RUN_USE_DEVICE_H_
#define AMP_RUNTIME_DEVICE_RUN_USE_DEVICE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/kernel/tensor.h"

namespace amp {

class Accelerator;
class RankGroup;
namespace device {
struct Choices;
}

// Returns "cuda:0".
std::string DeviceName(const Accelerator& device);

// Copies the tensor to the other memory. Errors: kResourceExhausted; kAborted for an earlier failure on the device.
absl::StatusOr<Tensor> CopyToDevice(Accelerator& device, const Tensor& tensor);
absl::StatusOr<Tensor> CopyFromDevice(Accelerator& device, const Tensor& tensor);
// Copies the elements of `from` into `to`. REQUIRES: `to` lies on the device, and has the type, dims and layout of
// `from`.
absl::Status CopyOnto(Accelerator& device, const Tensor& from, Tensor& to);

// Says whether large copies between the memories go through pinned memory; empty without a device, or if there were
// none.
std::string CopiesText(const Accelerator* device);
// Returns warnings for the user, one line each, that have not been returned before. None without a device.
std::vector<std::string> TakeWarnings(Accelerator* device);

// From now on, the device's libraries time several ways to compute each operation and keep the fastest in `choices`;
// null: they choose by heuristics. REQUIRES: the choices live until others, or null, are set.
void UseChoices(Accelerator& device, const device::Choices* choices);

// Makes the devices compute means over the ranks. All ranks must call it, with one device each. Errors, the same on all
// ranks: kUnimplemented if a rank has no library for it or the library cannot join them; errors of the ranks.
absl::Status JoinRanks(Accelerator& device, RankGroup& ranks);
// Returns the name of the library that joined the ranks; empty without a device, or if they were not joined.
std::string RanksText(const Accelerator* device);

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_RUN_USE_DEVICE_H_
