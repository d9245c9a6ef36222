#include "tools/program/command_line.h"

#include <algorithm>
#include <cstring>

#include "CLI/CLI.hpp"
#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "ir/base/status.h"
#include "passes/classify/suggest.h"
#include "tools/library/foreign_words.h"
#include "tools/program/man_page.h"

namespace amp {
namespace {

std::vector<std::string> FlagNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// CLI11 counts the "--" that ends the flags among what it did not expect.
std::vector<std::string> Unexpected(const CLI::App& app) {
  std::vector<std::string> rest = app.remaining();
  if (auto end = std::find(rest.begin(), rest.end(), "--"); end != rest.end()) rest.erase(end);
  return rest;
}

// "; did you mean '--verify=x.npz'?" where an argument stands behind a flag that takes its value after "=" alone. What
// stands there may have been taken for the model, and the model be the one too many.
std::string MeantAsValue(const std::vector<std::string>& arguments, const std::vector<std::string>& flags,
                         const std::string& unexpected) {
  for (size_t i = 0; i + 1 < arguments.size(); ++i) {
    const std::string& value = arguments[i + 1];
    if (!absl::c_linear_search(flags, arguments[i])) continue;
    const std::string flag = arguments[i].substr(0, arguments[i].find('='));
    if (const std::string hint = HintForValue(flag, value); !hint.empty()) return hint;
    if (value != unexpected && !absl::EndsWith(value, ".npz")) continue;
    return absl::StrCat("; did you mean '", flag, "=", Escaped(value), "'?");
  }
  return "";
}

// The flag that may be repeated and has its value right ahead of arguments[i]: "--data a=a.npy" or "--data=a=a.npy".
std::string RepeatableFlagAhead(const CLI::App& app, const std::vector<std::string>& arguments, size_t i) {
  const auto flag_at = [&](size_t at) { return arguments[at].substr(0, arguments[at].find('=')); };
  const auto is_flag = [&](size_t at) { return absl::StartsWith(arguments[at], "--"); };
  std::string flag;
  if (i >= 1 && is_flag(i - 1) && absl::StrContains(arguments[i - 1], '=')) flag = flag_at(i - 1);
  if (i >= 2 && !is_flag(i - 1) && is_flag(i - 2) && !absl::StrContains(arguments[i - 2], '=')) flag = flag_at(i - 2);
  const CLI::Option* option = flag.empty() ? nullptr : app.get_option_no_throw(flag);
  const bool repeats = option != nullptr && option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  return repeats ? flag : "";
}

// Returns "; did you mean '--data y=y.npy'?" if a flag that takes one value at a time is followed by two. The second
// may have been taken for the model, and the model be the one too many.
std::string MeantAsNextValue(const CLI::App& app, const std::vector<std::string>& arguments) {
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string& value = arguments[i];
    const bool is_model = absl::EndsWith(value, ".onnx") && !absl::StrContains(value, '=');
    if (absl::StartsWith(value, "-") || is_model) continue;
    const std::string flag = RepeatableFlagAhead(app, arguments, i);
    if (flag.empty()) continue;
    return absl::StrCat("; each value has its own flag: did you mean '", flag, " ", Escaped(value), "'?");
  }
  return "";
}

// A file that stands alone, by its ending: what flag of the program takes such files, if it has not been given.
struct FileFlag {
  const char* ending;
  const char* flag;
  const char* before;  // the file
};
constexpr FileFlag kFileFlags[] = {{".onnx", "--output", "-o "},         {".onnx", "--compare", "--compare "},
                                   {".npz", "--inputs", "--inputs "},    {".npy", "--input", "--input NAME="},
                                   {".npy", "--data", "--data NAME="},   {".gz", "--data", "--data NAME="},
                                   {"-ubyte", "--data", "--data NAME="}, {".list", "--lists", "--lists "}};

std::string MeantAsFile(const CLI::App& app, const std::string& unexpected) {
  for (const FileFlag& row : kFileFlags) {
    const CLI::Option* option = app.get_option_no_throw(row.flag);
    const bool is_free = option != nullptr && (option->count() == 0 || row.before[std::strlen(row.before) - 1] == '=');
    if (!is_free || !absl::EndsWith(unexpected, row.ending)) continue;
    return absl::StrCat("; did you mean '", row.before, Escaped(unexpected), "'?");
  }
  return "";
}

// "one MODEL"; "KIND SIZES" where there are several.
std::string Positionals(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) names.push_back(option->get_single_name());
  }
  return absl::StrCat(names.size() == 1 ? "one " : "", absl::StrJoin(names, " "));
}

absl::Status UnexpectedArgument(const CLI::App& app, const std::vector<std::string>& arguments,
                                const std::vector<std::string>& flags_with_equals, const std::string& found) {
  std::string meant = MeantAsValue(arguments, flags_with_equals, found);
  if (meant.empty()) meant = MeantAsNextValue(app, arguments);
  if (meant.empty()) meant = MeantAsFile(app, found);
  return UsageError("unexpected argument '", Escaped(found), "'; expected ", Positionals(app), meant);
}

// Returns a short flag of another tool that begins like one of ours, as -ope does, and was taken for that and its
// value; "" if there is none.
std::string ForeignShortFlag(const CLI::App& app, const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") return "";
    const bool is_short = argument.size() > 2 && argument[0] == '-' && argument[1] != '-';
    if (is_short && !HintForFlag(app.get_name(), argument).empty()) return argument;
  }
  return "";
}

absl::Status UnknownArgument(const CLI::App& app, const std::vector<std::string>& arguments,
                             const std::vector<std::string>& flags_with_equals) {
  const std::vector<std::string> rest = Unexpected(app);
  std::string first = rest.empty() ? "" : rest.front();
  if (const std::string foreign = ForeignShortFlag(app, arguments); !foreign.empty()) first = foreign;
  if (!absl::StartsWith(first, "-")) return UnexpectedArgument(app, arguments, flags_with_equals, first);
  first = first.substr(0, first.find('='));
  if (app.get_option_no_throw(first) != nullptr) {
    return UsageError("'", Escaped(first), "' stands behind '--', which ends the flags; expected it before that");
  }
  const std::string hint = HintForFlag(app.get_name(), first);
  return UsageError("unknown flag '", Escaped(first), "'", hint.empty() ? DidYouMean(first, FlagNames(app)) : hint);
}

// CLI11's own words leave out what was expected.
absl::Status WrongCount(const CLI::App& app, const CLI::ArgumentMismatch& error) {
  const std::string text = error.what(), flag = text.substr(0, text.find(':'));
  const CLI::Option* option = app.get_option_no_throw(flag);
  if (option == nullptr) return UsageError(Escaped(text));
  const bool takes_one = option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw;
  if (takes_one && option->count() > 1) return UsageError(flag, ": given twice");
  return UsageError(flag, ": expected ", option->get_type_name());
}

absl::Status EmptyValue(const CLI::Option& option) {
  const std::string type = option.get_type_name(), name = option.get_name();
  if (option.get_positional()) return UsageError(name, ": expected a value, found ''");
  if (type.empty() || absl::StartsWith(type, "[=")) {
    return UsageError(name, ": expected a value behind '=', found none");
  }
  return UsageError(name, ": expected ", type, ", found ''");
}

// Whether it switches the flag on or off: CLI11 takes other numbers, too, for how often the flag stands there.
bool IsTruthValue(absl::string_view value) {
  constexpr absl::string_view kWords[] = {"true", "false", "on", "off", "yes", "no", "1", "0"};
  return absl::c_linear_search(kWords, absl::AsciiStrToLower(value));
}

// No flag takes an empty value. Behind "=", CLI11 would take the next argument instead, or the value of the flag alone.
absl::Status CheckEqualsSigns(const CLI::App& app, const std::vector<std::string>& arguments,
                              const std::vector<std::string>& flags_with_equals) {
  const auto name_of = [](const std::string& argument) { return argument.substr(0, argument.find('=')); };
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    const std::string flag = name_of(argument);
    if (!absl::StartsWith(flag, "--") || flag.size() == argument.size()) continue;
    const CLI::Option* option = app.get_option_no_throw(flag);
    if (option == nullptr) continue;
    const std::string value = argument.substr(flag.size() + 1);
    if (value.empty()) return EmptyValue(*option);
    const auto is_flag = [&](const std::string& other) { return name_of(other) == flag; };
    const bool takes_value = option->get_expected_max() != 0 || absl::c_any_of(flags_with_equals, is_flag);
    if (takes_value || IsTruthValue(value)) continue;
    return UsageError(flag, ": expected no value, found '", Escaped(value), "'");
  }
  return absl::OkStatus();
}

// A variable that a shell does not know gives an empty argument. Taken as a value, it would switch the flag off.
absl::Status CheckValues(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (absl::c_linear_search(option->results(), "")) return EmptyValue(*option);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ParseCommandLine(CLI::App& app, const std::vector<std::string>& arguments,
                                             const std::vector<std::string>& flags_with_equals) {
  if (arguments == std::vector<std::string>{"--man-page"}) return ManPage(app);
  app.allow_extras();
  AMP_RETURN_IF_ERROR(CheckEqualsSigns(app, arguments, flags_with_equals));
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    return app.help();
  } catch (const CLI::CallForVersion& version) {
    return std::string(version.what()) + "\n";
  } catch (const CLI::ArgumentMismatch& error) {
    return WrongCount(app, error);
  } catch (const CLI::ParseError& error) {
    std::string text = error.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    return UsageError(Escaped(text));
  }
  if (!Unexpected(app).empty()) return UnknownArgument(app, arguments, flags_with_equals);
  AMP_RETURN_IF_ERROR(CheckValues(app));
  return std::string();
}

}  // namespace amp
