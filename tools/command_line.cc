#include "tools/command_line.h"

#include <algorithm>

#include "CLI/CLI.hpp"
#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "passes/classify/suggest.h"

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
    if (value != unexpected && !absl::EndsWith(value, ".npz")) continue;
    if (!absl::c_linear_search(flags, arguments[i])) continue;
    const std::string flag = arguments[i].substr(0, arguments[i].find('='));
    return absl::StrCat("; did you mean '", flag, "=", Escaped(value), "'?");
  }
  return "";
}

absl::Status UnknownArgument(const CLI::App& app, const std::vector<std::string>& arguments,
                             const std::vector<std::string>& flags_with_equals) {
  const std::vector<std::string> rest = Unexpected(app);
  const std::string first = rest.empty() ? "" : rest.front().substr(0, rest.front().find('='));
  if (!absl::StartsWith(first, "-"))
    return UsageError("unexpected argument '", Escaped(first), "'; expected one MODEL",
                      MeantAsValue(arguments, flags_with_equals, first));
  if (app.get_option_no_throw(first) != nullptr) {
    return UsageError("'", Escaped(first), "' stands behind '--', which ends the flags; expected it before that");
  }
  return UsageError("unknown flag '", Escaped(first), "'", DidYouMean(first, FlagNames(app)));
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

}  // namespace

absl::StatusOr<std::string> ParseCommandLine(CLI::App& app, const std::vector<std::string>& arguments,
                                             const std::vector<std::string>& flags_with_equals) {
  app.allow_extras();
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
  return std::string();
}

}  // namespace amp
