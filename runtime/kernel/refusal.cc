#include "runtime/kernel/refusal.h"

namespace amp {

// No other status of this project has this code.
absl::Status Refused(absl::string_view reason) { return absl::OutOfRangeError(reason); }
bool IsRefusal(const absl::Status& status) { return absl::IsOutOfRange(status); }

}  // namespace amp
