// Values of flags that several programs share, and that need a look before they are values.
#ifndef AMP_TOOLS_PROGRAM_FLAG_WORDS_H_
#define AMP_TOOLS_PROGRAM_FLAG_WORDS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace amp {

// "NAME=VALUE", at the last "=": names may hold one, values of these flags do not. `expected`: "NAME=FILE". Errors:
// kInvalidArgument.
absl::StatusOr<std::pair<std::string, std::string>> SplitPair(const std::string& flag, const std::string& text,
                                                              const std::string& expected);

// An error of a flag that took the same name before.
absl::Status GivenTwice(const std::string& flag, const std::string& name);

using NamedFiles = std::vector<std::pair<std::string, std::string>>;  // name and file
// "NAME=FILE" each. Errors: kInvalidArgument, also for a name that comes twice.
absl::StatusOr<NamedFiles> ReadNamedFiles(const std::string& flag, const std::vector<std::string>& texts);

// Parses values of --dim, "NAME=N" each, N from 0 on. Errors: kInvalidArgument, also for a name that comes twice.
absl::StatusOr<std::map<std::string, int64_t>> ReadDims(const std::vector<std::string>& texts);

// The value of --device.
struct DeviceChoice {
  bool is_auto = false;        // what amp-rewrite --target auto takes
  std::optional<int> ordinal;  // the number of an NVIDIA GPU; nothing: the processor
};
// Errors: kInvalidArgument.
absl::StatusOr<DeviceChoice> ReadDevice(const std::string& device);

}  // namespace amp

#endif  // AMP_TOOLS_PROGRAM_FLAG_WORDS_H_
