#include "tools/library/limit_flags.h"

#include "ir/base/status.h"

namespace amp {

absl::Status CheckLimits(const Limits& limits) {
  absl::Status status;
  ForEachLimit(limits, [&](const char* flag, int64_t value, int64_t largest, const char*) {
    if (value < 0 || value > largest) {
      status.Update(UsageError(flag, ": expected a whole number from 0 to ", largest, ", found ", value));
    }
  });
  return status;
}

}  // namespace amp
