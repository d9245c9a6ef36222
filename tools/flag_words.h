// Values of flags that several programs share, and that need a look before they are values.
#ifndef AMP_TOOLS_FLAG_WORDS_H_
#define AMP_TOOLS_FLAG_WORDS_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace amp {

// "NAME=VALUE", at the last "=": names may hold one, values of these flags do not. `expected`: "NAME=FILE". Errors:
// kInvalidArgument.
absl::StatusOr<std::pair<std::string, std::string>> SplitPair(const std::string& flag, const std::string& text,
                                                              const std::string& expected);

// Of --device. `what`: "models run". Errors: kUnimplemented for one that is there for nothing yet, kInvalidArgument.
absl::Status CheckDevice(const std::string& device, const std::string& what);

}  // namespace amp

#endif  // AMP_TOOLS_FLAG_WORDS_H_
