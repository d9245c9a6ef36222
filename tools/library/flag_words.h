// From the text behind a flag to its value.
#ifndef AMP_TOOLS_LIBRARY_FLAG_WORDS_H_
#define AMP_TOOLS_LIBRARY_FLAG_WORDS_H_

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "passes/classify/suggest.h"
#include "tools/library/foreign_words.h"
#include "tools/library/option_names.h"

namespace amp {

// The help of --force, in all programs.
inline constexpr char kForceHelp[] =
    "replace files of another kind than what is written there, too (a picture by a model)";

// A help text with the value that holds without the flag.
std::string WithDefault(const std::string& help, const auto& value) { return absl::StrCat(help, " [", value, "]"); }

// The value of that name, or an error that says which names there are. `flag`: whose value it is.
template <typename Enum>
absl::StatusOr<Enum> ParseChoice(const std::string& text, const EnumNames<Enum>& choices, const std::string& shown,
                                 const std::string& flag = "") {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) {
    if (name == text) return value;
    names.push_back(name);
  }
  const std::string hint = HintForValue(flag, text);
  return UsageError("expected ", shown, ", found '", Escaped(text), "'", hint.empty() ? DidYouMean(text, names) : hint);
}

bool ParseNumber(const std::string& text, std::integral auto& number) { return absl::SimpleAtoi(text, &number); }
inline bool ParseNumber(const std::string& text, double& number) { return absl::SimpleAtod(text, &number); }

// A number from 0 to `largest`, or any number; whole if the type is. Errors: kInvalidArgument.
template <typename Number>
absl::StatusOr<Number> ReadNumber(const std::string& flag, const std::string& text, std::optional<Number> largest) {
  Number number = 0;
  const bool is_number = ParseNumber(text, number);
  if (is_number && (!largest || (number >= 0 && number <= *largest))) return number;
  return UsageError(flag, ": expected a ", std::is_integral_v<Number> ? "whole number" : "number",
                    largest ? absl::StrCat(" from 0 to ", *largest) : "", ", found '", Escaped(text), "'");
}

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

#endif  // AMP_TOOLS_LIBRARY_FLAG_WORDS_H_
