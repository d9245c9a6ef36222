// A table of flags. Each row says once what a flag is called, what it is for, which option it stands for, and how that
// is read from text and written as text. The command line, --help, man pages, completion, the options of other
// languages, the list of flags in a report and the files that a rewrite reads and writes all follow from the rows.
#ifndef AMP_TOOLS_LIBRARY_FLAG_TABLE_H_
#define AMP_TOOLS_LIBRARY_FLAG_TABLE_H_

#include <charconv>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "tools/library/file_uses.h"
#include "tools/library/flag_words.h"
#include "tools/library/option_names.h"

namespace amp {

enum class FlagForm {
  kSwitch,         // --search
  kValue,          // --level LEVEL
  kOptionalValue,  // --verify, or --verify=FILE; the value of the flag alone is ""
  kRepeated,       // --deny-node GLOB --deny-node GLOB
};

// The kind of thing that an option says.
enum class FlagUse {
  kDecides,    // what becomes low
  kDescribes,  // the model, the types as a whole, or files: it decides nothing by itself
  kPrints,     // what is printed or reported, and where: reports do not list it
};

struct GivenFlag {
  const std::string& name;  // "--level"
  const std::string& type;  // "default|unsafe-force-all"
  const std::string& text;  // its value
};

// How an option is read from a flag, and written as one.
template <typename Options>
struct FlagAccess {
  FlagForm form = FlagForm::kValue;
  // Sets the option. Errors: kInvalidArgument, with the flag's name.
  std::function<absl::Status(const GivenFlag& given, Options& options)> read;
  // The values that set the option; none where it is as without the flag. A switch has the value "".
  std::function<std::vector<std::string>(const Options& options)> values;
};

template <typename Options>
struct FlagTraits {
  FlagUse use = FlagUse::kDecides;
  std::string needs = {};    // the flag without which this one has no effect
  bool is_of_files = false;  // it does not apply to a model in memory
  // Adds the files that the flag of that name has read or written.
  std::function<void(const std::string& name, const Options& options, FileUses& uses)> files = {};
};

template <typename Options>
struct Flag {
  std::string name;  // "--deny-node"
  std::string type;  // "GLOB"; "" where no value is shown
  std::string help;
  FlagAccess<Options> access;
  FlagTraits<Options> traits = {};
  std::string group = {};  // the heading in --help

  bool IsSet(const Options& options) const { return !access.values(options).empty(); }
};

template <typename Options>
using FlagTable = std::vector<Flag<Options>>;

// A flag that is set, with its value; "" for a switch.
struct SetFlag {
  std::string flag, value;

  std::string Text() const { return value.empty() ? flag : absl::StrCat(flag, "=", value); }  // "--level=default"
};

// The flags of those rows for which `wanted` says so that set these options, in the order of the table.
template <typename Options, typename Wanted>
std::vector<SetFlag> SetFlags(const FlagTable<Options>& table, const Options& options, const Wanted& wanted) {
  std::vector<SetFlag> flags;
  for (const Flag<Options>& row : table) {
    if (!wanted(row)) continue;
    for (const std::string& value : row.access.values(options)) flags.push_back({row.name, value});
  }
  return flags;
}

// ---- ways to access a member

template <typename Options>
const Options& UsualOptions() {
  static const Options* const usual = new Options();
  return *usual;
}

// The shortest text that is read as the same number.
inline std::string NumberText(double number) {
  constexpr size_t kMostDigits = 32;
  char text[kMostDigits];
  return std::string(text, std::to_chars(text, text + sizeof(text), number).ptr);
}
inline std::string NumberText(std::integral auto number) { return absl::StrCat(number); }

// The values of a switch.
inline std::vector<std::string> SwitchValues(bool is_on) { return std::vector<std::string>(is_on ? 1 : 0); }

template <typename Options>
FlagAccess<Options> Switch(bool Options::*member) {
  return {FlagForm::kSwitch,
          [member](const GivenFlag&, Options& options) {
            options.*member = true;
            return absl::OkStatus();
          },
          [member](const Options& options) { return SwitchValues(options.*member); }};
}

// A switch to one of the two values.
template <typename Options>
FlagAccess<Options> SwitchTo(bool value, std::optional<bool> Options::*member) {
  return {FlagForm::kSwitch,
          [value, member](const GivenFlag&, Options& options) {
            options.*member = value;
            return absl::OkStatus();
          },
          [value, member](const Options& options) { return SwitchValues(options.*member == value); }};
}

template <typename Options>
FlagAccess<Options> Text(std::string Options::*member) {
  return {FlagForm::kValue,
          [member](const GivenFlag& given, Options& options) {
            options.*member = given.text;
            return absl::OkStatus();
          },
          [member](const Options& options) -> std::vector<std::string> {
            if (options.*member == UsualOptions<Options>().*member) return {};
            return {options.*member};
          }};
}

template <typename Options>
FlagAccess<Options> Texts(std::vector<std::string> Options::*member) {
  return {FlagForm::kRepeated,
          [member](const GivenFlag& given, Options& options) {
            (options.*member).push_back(given.text);
            return absl::OkStatus();
          },
          [member](const Options& options) { return options.*member; }};
}

template <typename Value>
struct ValueOf {
  using Type = Value;
};
template <typename Value>
struct ValueOf<std::optional<Value>> {
  using Type = Value;
};

// A name of an enum, or of an optional one. The error lists the names as the flag's type has them.
template <typename Options, typename Member>
FlagAccess<Options> Choice(Member Options::*member) {
  using Enum = typename ValueOf<Member>::Type;
  return {FlagForm::kValue,
          [member](const GivenFlag& given, Options& options) -> absl::Status {
            const absl::StatusOr<Enum> choice = ParseChoice(given.text, NamesOf(Enum()), given.type, given.name);
            if (!choice.ok()) return UsageError(given.name, ": ", choice.status().message());
            options.*member = *choice;
            return absl::OkStatus();
          },
          [member](const Options& options) -> std::vector<std::string> {
            if (options.*member == UsualOptions<Options>().*member) return {};
            return {NameOf(*std::optional<Enum>(options.*member))};
          }};
}

// A number from 0 to `largest`, whole if the member is; without `largest` any number.
template <typename Options, typename Member>
FlagAccess<Options> Number(Member Options::*member,
                           std::optional<typename ValueOf<Member>::Type> largest = std::nullopt) {
  using Value = typename ValueOf<Member>::Type;
  return {FlagForm::kValue,
          [member, largest](const GivenFlag& given, Options& options) -> absl::Status {
            AMP_ASSIGN_OR_RETURN(options.*member, ReadNumber<Value>(given.name, given.text, largest));
            return absl::OkStatus();
          },
          [member](const Options& options) -> std::vector<std::string> {
            if (options.*member == UsualOptions<Options>().*member) return {};
            return {NumberText(*std::optional<Value>(options.*member))};
          }};
}

// ---- files

template <typename Options>
FlagTraits<Options> Reads(std::vector<std::string> Options::*member) {
  return {.files = [member](const std::string& name, const Options& options, FileUses& uses) {
    for (const std::string& path : options.*member) uses.reads.push_back({name, path});
  }};
}

// A file beside the model, that says something of it.
template <typename Options>
FlagTraits<Options> Writes(std::string Options::*member, FileKind kind, const char* needs = "") {
  return {.use = FlagUse::kPrints,
          .needs = needs,
          .is_of_files = true,
          .files = [member, kind](const std::string& name, const Options& options, FileUses& uses) {
            uses.writes.push_back({name, options.*member, kind});
          }};
}

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_FLAG_TABLE_H_
