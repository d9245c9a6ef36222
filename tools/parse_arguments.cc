#include "tools/parse_arguments.h"

#include <algorithm>
#include <iterator>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "ir/base/status.h"
#include "passes/classify/suggest.h"
#include "tools/completion.h"
#include "tools/version.h"

namespace amp {
namespace {

// "--deny -Softmax" means "--deny=-Softmax": a value that begins with "-" is no flag there.
std::vector<std::string> JoinDashedItems(const std::vector<std::string>& arguments) {
  static const char* const kFlags[] = {"--allow", "--infer", "--deny", "--clear"};
  std::vector<std::string> joined;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool takes_items = std::find(std::begin(kFlags), std::end(kFlags), arguments[i]) != std::end(kFlags);
    const bool is_dashed = i + 1 < arguments.size() && arguments[i + 1].size() > 1 && arguments[i + 1][0] == '-' &&
                           arguments[i + 1][1] != '-';
    joined.push_back(takes_items && is_dashed ? arguments[i] + "=" + arguments[i + 1] : arguments[i]);
    if (takes_items && is_dashed) ++i;
  }
  return joined;
}

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

absl::Status Interpret(Arguments& a) {
  RewriteOptions& o = a.options;
  if (a.follow == "on" || a.follow == "off") {
    o.follow = a.follow == "on";
  } else if (a.follow != "profile") {
    return UsageError("--follow: expected on or off, found '", Escaped(a.follow), "'");
  }
  if (a.opset == "keep") {
    o.keep_opset = true;
  } else if (int version; a.opset != "auto") {
    if (!absl::SimpleAtoi(a.opset, &version) || version <= 0) {
      return UsageError("--opset: expected auto, keep or a version, found '", Escaped(a.opset), "'");
    }
    o.opset = version;
  }
  constexpr absl::string_view kWithoutValue = "true";
  o.explain = a.explain == kWithoutValue;
  o.explain_float32 = a.explain == "float32";
  if (!a.explain.empty() && !o.explain && !o.explain_float32) {
    return UsageError("--explain: expected nothing or =float32, found '", Escaped(a.explain), "'");
  }
  o.report = !a.report.empty();
  if (a.report != "-") o.report_file = a.report;
  if (a.keep_io) {
    o.keep_io = *a.keep_io == "all";
    if (!*o.keep_io && *a.keep_io != "none") o.keep_io_names = absl::StrSplit(*a.keep_io, ',');
  }
  if (a.print_lists || a.list_profiles || !a.completion.empty()) return absl::OkStatus();
  if (a.input.empty()) return UsageError("expected MODEL, a path to an ONNX file; see --help");
  if (a.input == "-" || a.output == "-")
    return UsageError("models are files, found '-'; expected a path (a file of that name: ./-)");
  if (o.in_place && !a.output.empty()) return UsageError("--in-place and -o exclude each other");
  if (o.in_place) a.output = a.input;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ParsedArguments> ParseArguments(const std::vector<std::string>& arguments) {
  ParsedArguments parsed;
  CLI::App app("", "amp-rewrite");
  app.allow_extras();
  try {
    DeclareFlags(app, parsed.arguments);
    std::vector<std::string> reversed = JoinDashedItems(arguments);
    std::reverse(reversed.begin(), reversed.end());
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    parsed.text = app.help();
    return parsed;
  } catch (const CLI::CallForVersion&) {
    parsed.text = VersionText() + "\n";
    return parsed;
  } catch (const CLI::ArgumentMismatch& error) {
    return WrongCount(app, error);
  } catch (const CLI::ParseError& error) {
    std::string text = error.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    return UsageError(Escaped(text));
  }
  if (!Unexpected(app).empty()) return UnknownArgument(app);
  AMP_RETURN_IF_ERROR(Interpret(parsed.arguments));
  if (!parsed.arguments.completion.empty()) parsed.text = BashCompletion(app);
  return parsed;
}

}  // namespace amp
