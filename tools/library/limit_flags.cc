#include "tools/library/limit_flags.h"

#include "absl/strings/str_cat.h"
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

std::vector<std::string> ChangedLimits(const Limits& limits) {
  const Limits usual;
  std::vector<int64_t> usual_values;
  ForEachLimit(usual, [&](const char*, int64_t value, int64_t, const char*) { usual_values.push_back(value); });
  std::vector<std::string> flags;
  auto usual_value = usual_values.begin();
  ForEachLimit(limits, [&](const char* flag, int64_t value, int64_t, const char*) {
    if (value != *usual_value++) flags.push_back(absl::StrCat(flag, "=", value));
  });
  return flags;
}

}  // namespace amp
