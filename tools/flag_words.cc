#include "tools/flag_words.h"

#include "absl/strings/match.h"
#include "ir/base/status.h"

namespace amp {

absl::StatusOr<std::pair<std::string, std::string>> SplitPair(const std::string& flag, const std::string& text,
                                                              const std::string& expected) {
  const size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size()) {
    return UsageError(flag, ": expected ", expected, ", found '", Escaped(text), "'");
  }
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

absl::Status CheckDevice(const std::string& device, const std::string& what) {
  if (device == "auto" || device == "cpu") return absl::OkStatus();
  if (device == "cuda" || absl::StartsWith(device, "cuda:")) {
    return DeviceError("--device ", Escaped(device), ": ", what, " on the processor alone; expected auto or cpu");
  }
  return UsageError("--device: expected auto, cpu or cuda[:N], found '", Escaped(device), "'");
}

}  // namespace amp
