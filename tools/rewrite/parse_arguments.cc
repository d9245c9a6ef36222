#include "tools/rewrite/parse_arguments.h"

#include <algorithm>
#include <iterator>

#include "CLI/CLI.hpp"
#include "ir/base/status.h"
#include "tools/program/command_line.h"
#include "tools/program/completion.h"

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

absl::Status Interpret(Arguments& a) {
  AMP_RETURN_IF_ERROR(ReadTexts(a));
  if (a.print_lists || a.list_profiles || !a.completion.empty()) return absl::OkStatus();
  if (a.input.empty()) return UsageError("expected MODEL, a path to an ONNX file; see --help");
  if (a.input == "-" || a.output == "-")
    return UsageError("models are files, found '-'; expected a path (a file of that name: ./-)");
  if (a.options.in_place && !a.output.empty()) return UsageError("--in-place and -o exclude each other");
  if (a.options.in_place) a.output = a.input;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ParsedArguments> ParseArguments(const std::vector<std::string>& arguments) {
  ParsedArguments parsed;
  CLI::App app("", "amp-rewrite");
  DeclareFlags(app, parsed.arguments);
  AMP_ASSIGN_OR_RETURN(parsed.text, ParseCommandLine(app, JoinDashedItems(arguments), FlagsWithEquals()));
  if (!parsed.text.empty()) return parsed;
  AMP_RETURN_IF_ERROR(Interpret(parsed.arguments));
  if (!parsed.arguments.completion.empty()) parsed.text = BashCompletion(app);
  return parsed;
}

}  // namespace amp
