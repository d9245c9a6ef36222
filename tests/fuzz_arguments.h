// Command lines of the programs that try edited models: numbers by flag, --keep, and paths.
#ifndef AMP_TESTS_FUZZ_ARGUMENTS_H_
#define AMP_TESTS_FUZZ_ARGUMENTS_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"

namespace amp {

// Sets the numbers and `keep`; gives the paths, or nothing where a flag has no number or there is no path.
inline std::optional<std::vector<std::string>> ParseFuzzArguments(
    const std::vector<std::string>& arguments, const std::vector<std::pair<std::string, int64_t*>>& numbers,
    std::string& keep) {
  std::vector<std::string> paths;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto known =
        std::find_if(numbers.begin(), numbers.end(), [&](const auto& n) { return n.first == arguments[i]; });
    const bool has_value = i + 1 < arguments.size();
    if (known != numbers.end()) {
      if (!has_value || !absl::SimpleAtoi(arguments[++i], known->second)) return std::nullopt;
    } else if (arguments[i] == "--keep" && has_value) {
      keep = arguments[++i];
    } else {
      paths.push_back(arguments[i]);
    }
  }
  return paths.empty() ? std::nullopt : std::optional(std::move(paths));
}

}  // namespace amp

#endif  // AMP_TESTS_FUZZ_ARGUMENTS_H_
