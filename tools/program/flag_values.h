// Kinds of flags that the programs declare: a choice among names, a number, the limits.
#ifndef AMP_TOOLS_PROGRAM_FLAG_VALUES_H_
#define AMP_TOOLS_PROGRAM_FLAG_VALUES_H_

#include <limits>
#include <string>
#include <type_traits>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "tools/library/flag_words.h"
#include "tools/library/limit_flags.h"
#include "tools/library/option_names.h"

namespace amp {

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

// A flag whose value is a number from 0 to `largest`, whole if the type is. `help` says what it is otherwise.
template <typename Number, typename Value>
void AddNumberAs(CLI::App& app, const std::string& group, const std::string& flag, Value& value, Number largest,
                 const std::string& help) {
  app.add_option_function<std::string>(
         flag,
         [&value, flag, largest](const std::string& text) {
           const absl::StatusOr<Number> number = ReadNumber<Number>(flag, text, largest);
           if (!number.ok()) throw CLI::ValidationError(std::string(number.status().message()));
           value = *number;
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
