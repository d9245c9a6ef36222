#include "tools/library/flag_words.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "ir/base/status.h"
#include "runtime/kernel/tensor.h"
#include "tools/library/foreign_words.h"

namespace amp {

absl::StatusOr<std::pair<std::string, std::string>> SplitPair(const std::string& flag, const std::string& text,
                                                              const std::string& expected) {
  const size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size()) {
    return UsageError(flag, ": expected ", expected, ", found '", Escaped(text), "'");
  }
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

absl::Status GivenTwice(const std::string& flag, const std::string& name) {
  return UsageError(flag, ": '", Escaped(name), "' is given twice");
}

absl::StatusOr<NamedFiles> ReadNamedFiles(const std::string& flag, const std::vector<std::string>& texts) {
  NamedFiles files;
  for (const std::string& text : texts) {
    AMP_ASSIGN_OR_RETURN(const auto pair, SplitPair(flag, text, "NAME=FILE"));
    for (const auto& [name, file] : files) {
      if (name == pair.first) return GivenTwice(flag, name);
    }
    files.push_back(pair);
  }
  return files;
}

absl::StatusOr<std::map<std::string, int64_t>> ReadDims(const std::vector<std::string>& texts) {
  std::map<std::string, int64_t> dims;
  for (const std::string& text : texts) {
    AMP_ASSIGN_OR_RETURN(const auto pair, SplitPair("--dim", text, "NAME=N"));
    int64_t value = 0;
    if (!absl::SimpleAtoi(pair.second, &value) || value < 0 || value > kMaxElements) {
      return UsageError("--dim: expected a whole number from 0 to ", kMaxElements, ", found '", Escaped(text), "'");
    }
    if (!dims.emplace(pair.first, value).second) return GivenTwice("--dim", pair.first);
  }
  return dims;
}

absl::StatusOr<DeviceChoice> ReadDevice(const std::string& device) {
  if (device == "auto") return DeviceChoice{.is_auto = true, .ordinal = {}};
  if (device == "cpu") return DeviceChoice();
  if (device == "cuda") return DeviceChoice{.is_auto = false, .ordinal = 0};
  constexpr absl::string_view kNumbered = "cuda:";
  int ordinal = 0;
  const bool is_numbered = absl::StartsWith(device, kNumbered) &&
                           absl::SimpleAtoi(absl::string_view(device).substr(kNumbered.size()), &ordinal);
  if (is_numbered && ordinal >= 0) return DeviceChoice{.is_auto = false, .ordinal = ordinal};
  return UsageError("--device: expected auto, cpu or cuda[:N], found '", Escaped(device), "'",
                    HintForValue("--device", device));
}

}  // namespace amp
