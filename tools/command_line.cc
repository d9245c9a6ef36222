#include "tools/command_line.h"

#include <algorithm>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
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

absl::Status UnknownArgument(const CLI::App& app) {
  const std::vector<std::string> rest = Unexpected(app);
  const std::string first = rest.empty() ? "" : rest.front().substr(0, rest.front().find('='));
  if (!absl::StartsWith(first, "-"))
    return UsageError("unexpected argument '", Escaped(first), "'; expected one MODEL");
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

absl::StatusOr<std::string> ParseCommandLine(CLI::App& app, std::vector<std::string> arguments) {
  app.allow_extras();
  try {
    std::reverse(arguments.begin(), arguments.end());
    app.parse(arguments);
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
  if (!Unexpected(app).empty()) return UnknownArgument(app);
  return std::string();
}

}  // namespace amp
