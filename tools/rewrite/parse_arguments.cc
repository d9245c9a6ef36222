#include "tools/rewrite/parse_arguments.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "ir/base/status.h"
#include "tools/library/foreign_words.h"
#include "tools/program/command_line.h"
#include "tools/program/completion.h"
#include "tools/program/flag_values.h"
#include "tools/program/flag_words.h"

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

// A name of a dimension, rather than a size.
bool IsSymbol(const std::string& text) {
  return absl::ascii_isalpha(static_cast<unsigned char>(text[0])) || text[0] == '_';
}

// A file of one of these names: --verify=./off
absl::Status SetVerify(const std::string& word, RewriteOptions& o) {
  using Verify = RewriteOptions::Verify;
  static const std::map<std::string, Verify> kModes = {{"", Verify::kAuto},
                                                       {"auto", Verify::kAuto},
                                                       {"off", Verify::kOff},
                                                       {"fix", Verify::kFix},
                                                       {"true", Verify::kOn}};
  const auto mode = kModes.find(word);
  o.verify = mode == kModes.end() ? Verify::kOn : mode->second;
  if (mode != kModes.end()) return absl::OkStatus();
  std::error_code error;
  if (!absl::StrContains(word, '.') && !std::filesystem::exists(word, error)) {
    return UsageError("--verify: expected a file, fix, off or auto, found '", Escaped(word), "'");
  }
  o.verify_file = word;
  return absl::OkStatus();
}

absl::Status Interpret(Arguments& a) {
  RewriteOptions& o = a.options;
  if (a.follow == "on" || a.follow == "off") {
    o.follow = a.follow == "on";
  } else if (a.follow != "profile") {
    return UsageError("--follow: expected on or off, found '", Escaped(a.follow), "'",
                      HintForValue("--follow", a.follow));
  }
  if (a.opset == "keep") {
    o.keep_opset = true;
  } else if (int version; a.opset != "auto") {
    if (!absl::SimpleAtoi(a.opset, &version) || version <= 0) {
      return UsageError("--opset: expected auto, keep or a version, found '", Escaped(a.opset), "'",
                        HintForValue("--opset", a.opset));
    }
    o.opset = version;
  }
  constexpr absl::string_view kWithoutValue = "true";
  o.explain = a.explain == kWithoutValue;
  o.explain_float32 = a.explain == "float32";
  if (!a.explain.empty() && !o.explain && !o.explain_float32) {
    return UsageError("--explain: expected nothing or =float32, found '", Escaped(a.explain), "'");
  }
  if (a.scale_weights == kWithoutValue) {
    o.scale_weights = WeightScaling::kAlways;
  } else if (!a.scale_weights.empty()) {
    const auto scaling = ParseChoice(a.scale_weights, NamesOf(o.scale_weights), "nothing or =low-data|always|never");
    if (!scaling.ok()) return UsageError("--scale-weights: ", scaling.status().message());
    o.scale_weights = *scaling;
  }
  AMP_RETURN_IF_ERROR(SetVerify(a.verify, o));
  o.sensitivity = !a.sensitivity.empty() && a.sensitivity != "false";
  if (o.sensitivity && a.sensitivity != kWithoutValue) o.sensitivity_file = a.sensitivity;
  std::vector<std::string> sizes;
  for (const std::string& text : a.dims) {
    AMP_ASSIGN_OR_RETURN(const auto pair, SplitPair("--dim", text, "NAME=N or INPUT:AXIS=NAME"));
    if (IsSymbol(pair.second)) {
      if (!o.free_dims.emplace(pair.first, pair.second).second) return GivenTwice("--dim", pair.first);
    } else {
      sizes.push_back(text);
    }
  }
  AMP_ASSIGN_OR_RETURN(o.dims, ReadDims(sizes));
  o.report = a.report == "-";
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
  DeclareFlags(app, parsed.arguments);
  AMP_ASSIGN_OR_RETURN(parsed.text, ParseCommandLine(app, JoinDashedItems(arguments),
                                                     {std::begin(kFlagsWithEquals), std::end(kFlagsWithEquals)}));
  if (!parsed.text.empty()) return parsed;
  AMP_RETURN_IF_ERROR(Interpret(parsed.arguments));
  if (!parsed.arguments.completion.empty()) parsed.text = BashCompletion(app);
  return parsed;
}

}  // namespace amp
