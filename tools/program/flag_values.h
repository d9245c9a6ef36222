// Kinds of flags that the programs declare: a choice among names, a number, the limits.
#ifndef AMP_TOOLS_PROGRAM_FLAG_VALUES_H_
#define AMP_TOOLS_PROGRAM_FLAG_VALUES_H_

#include <concepts>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "passes/classify/suggest.h"
#include "tools/library/foreign_words.h"
#include "tools/library/limit_flags.h"
#include "tools/library/option_names.h"

namespace amp {

// The help of --force, in all programs.
inline constexpr char kForceHelp[] =
    "replace files of another kind than what is written there, too (a picture by a model)";

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

// A flag whose value is one of the names of `choices`; a wrong one gets the list and a suggestion.
template <typename Value, typename Enum>
void AddChoice(CLI::App& app, const std::string& group, const std::string& flag, Value& value,
               const EnumNames<Enum>& choices, const std::string& shown, const std::string& help) {
  app.add_option_function<std::string>(
         flag,
         [&value, &choices, flag, shown](const std::string& text) {
           const absl::StatusOr<Enum> choice = ParseChoice(text, choices, shown, flag);
           if (!choice.ok()) throw CLI::ValidationError(flag, std::string(choice.status().message()));
           value = *choice;
         },
         help)
      ->type_name(shown)
      ->group(group);
}

bool ParseNumber(const std::string& text, std::integral auto& number) { return absl::SimpleAtoi(text, &number); }
inline bool ParseNumber(const std::string& text, double& number) { return absl::SimpleAtod(text, &number); }

std::string WithDefault(const std::string& help, const auto& value) { return absl::StrCat(help, " [", value, "]"); }

// A flag whose value is a number from 0 to `largest`, whole if the type is. `help` says what it is otherwise.
template <typename Number, typename Value>
void AddNumberAs(CLI::App& app, const std::string& group, const std::string& flag, Value& value, Number largest,
                 const std::string& help) {
  app.add_option_function<std::string>(
         flag,
         [&value, flag, largest](const std::string& text) {
           Number number = 0;
           if (!ParseNumber(text, number) || !(number >= 0 && number <= largest)) {
             const char* const kind = std::is_integral_v<Number> ? "whole number" : "number";
             throw CLI::ValidationError(
                 flag, absl::StrCat("expected a ", kind, " from 0 to ", largest, ", found '", Escaped(text), "'"));
           }
           value = number;
         },
         help)
      ->type_name(std::is_integral_v<Number> ? "N" : "X")
      ->group(group);
}

template <typename Number>
void AddNumber(CLI::App& app, const std::string& group, const std::string& flag, Number& value, Number largest,
               const std::string& help) {
  AddNumberAs(app, group, flag, value, largest, WithDefault(help, value));
}

// --max-nodes and the like.
inline void AddLimits(CLI::App& app, Limits& limits) {
  ForEachLimit(limits, [&](const char* flag, auto& value, int64_t largest, const std::string& help) {
    using Number = std::remove_reference_t<decltype(value)>;
    const bool is_capped = largest < std::numeric_limits<int64_t>::max();
    AddNumber(app, "Limits", flag, value, static_cast<Number>(largest),
              is_capped ? absl::StrCat(help, ", at most ", largest) : help);
  });
}

}  // namespace amp

#endif  // AMP_TOOLS_PROGRAM_FLAG_VALUES_H_
