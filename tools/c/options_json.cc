#include "tools/c/options_json.h"

#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "ir/base/status.h"
#include "nlohmann/json.hpp"
#include "tools/program/command_line.h"
#include "tools/program/flag_values.h"
#include "tools/program/session_flags.h"
#include "tools/rewrite/declare_flags.h"
#include "tools/rewrite/parse_arguments.h"

namespace amp {
namespace {

using Json = nlohmann::ordered_json;

// Flags that a command line alone has: they print, or name the files that functions take as arguments.
const std::set<std::string>& FlagsOfProgramsAlone() {
  static const std::set<std::string> flags = {"--help",          "--version", "--output",  "--print-lists",
                                              "--list-profiles", "--quiet",   "--verbose", "--completion"};
  return flags;
}

// Options that do something by default, and the values that switch them off: false stands for these.
const std::map<std::string, std::string>& SwitchedOff() {
  static const std::map<std::string, std::string> values = {{"scale_weights", "never"}, {"verify", "off"}};
  return values;
}

absl::StatusOr<Json> ParseObject(const char* text) {
  if (text == nullptr) return Json::object();
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_object()) return json;
  return UsageError("options: expected a JSON object, found ", json.is_discarded() ? "no JSON" : json.type_name());
}

std::string FlagOf(const std::string& name) { return absl::StrCat("--", absl::StrReplaceAll(name, {{"_", "-"}})); }

std::string NameOf(const std::string& flag) { return absl::StrReplaceAll(absl::StripPrefix(flag, "--"), {{"-", "_"}}); }

// Returns the long flag; "" where there is none.
std::string LongFlag(const CLI::Option& option) {
  return option.get_lnames().empty() ? "" : absl::StrCat("--", option.get_lnames().front());
}

bool IsOption(const CLI::Option& option) {
  const std::string flag = LongFlag(option);
  return !flag.empty() && !FlagsOfProgramsAlone().contains(flag);
}

const CLI::Option* FindOption(const CLI::App& app, const std::string& flag) {
  const CLI::Option* const option = app.get_option_no_throw(flag);
  return option != nullptr && LongFlag(*option) == flag && IsOption(*option) ? option : nullptr;
}

bool Repeats(const CLI::Option& option) { return option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll; }

bool HasOptionalValue(const CLI::Option& option) {
  return absl::StartsWith(option.get_type_name(), "[=") || absl::c_linear_search(FlagsWithEquals(), LongFlag(option));
}
bool IsSwitch(const CLI::Option& option) { return option.get_expected_max() == 0 && !HasOptionalValue(option); }

absl::Status UnknownOption(const CLI::App& app, const std::string& name) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (IsOption(*option)) names.push_back(NameOf(LongFlag(*option)));
  }
  const std::string hint = HintForFlag(app.get_name(), FlagOf(name));
  return UsageError("unknown option '", Escaped(name), "'", hint.empty() ? DidYouMean(name, names) : hint);
}

constexpr char kLossScaleFunction[] = "loss_scale_function";

absl::StatusOr<std::optional<onnx::FunctionProto>> FunctionOf(const Json& value) {
  std::string bytes;
  onnx::FunctionProto function;
  if (value.is_null()) return std::nullopt;
  if (value.is_string() && absl::Base64Unescape(value.get<std::string>(), &bytes) && function.ParseFromString(bytes)) {
    return function;
  }
  return UsageError("option '", kLossScaleFunction, "': expected a serialized FunctionProto in base 64");
}

absl::StatusOr<std::string> ValueText(const std::string& name, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return std::string(value.get<bool>() ? "on" : "off");
  if (value.is_number()) return value.dump();
  return UsageError("option '", Escaped(name), "': expected a text or a number, found ", value.type_name());
}

// Adds the arguments that say what one option does.
class ArgumentMaker {
 public:
  ArgumentMaker(const CLI::App& app, std::vector<std::string>& arguments) : app_(app), arguments_(arguments) {}

  absl::Status Add(const std::string& name, const Json& value) {
    if (value.is_null()) return absl::OkStatus();
    const std::string flag = FlagOf(name);
    const CLI::Option* const option = FindOption(app_, flag);
    const std::string negation = absl::StrCat("--no-", flag.substr(2));
    if (value.is_boolean() && FindOption(app_, negation) != nullptr) {
      if (!value.get<bool>()) arguments_.push_back(negation);
      if (value.get<bool>() && option != nullptr) arguments_.push_back(flag);
      return absl::OkStatus();
    }
    if (option == nullptr) return UnknownOption(app_, name);
    if (const auto off = SwitchedOff().find(name); value == false && off != SwitchedOff().end()) {
      arguments_.push_back(absl::StrCat(flag, "=", off->second));
      return absl::OkStatus();
    }
    if (value.is_boolean() && (option->get_expected_max() == 0 || HasOptionalValue(*option))) {
      if (value.get<bool>()) arguments_.push_back(flag);
      return absl::OkStatus();
    }
    if (IsSwitch(*option)) {
      return UsageError("option '", Escaped(name), "': expected true or false, found ", value.type_name());
    }
    if (value.is_object()) return AddPairs(name, flag, *option, value);
    if (value.is_array()) return AddList(name, flag, *option, value);
    return AddValue(name, flag, value);
  }

 private:
  absl::Status AddValue(const std::string& name, const std::string& flag, const Json& value) {
    AMP_ASSIGN_OR_RETURN(const std::string text, ValueText(name, value));
    if (text.empty()) return UsageError(flag, ": expected a value, found ''");
    arguments_.push_back(absl::StrCat(flag, "=", text));
    return absl::OkStatus();
  }

  // A flag that is not repeated takes several values with commas between them.
  absl::Status AddList(const std::string& name, const std::string& flag, const CLI::Option& option, const Json& list) {
    std::string joined;
    for (const Json& item : list) {
      if (Repeats(option)) {
        AMP_RETURN_IF_ERROR(AddValue(name, flag, item));
        continue;
      }
      AMP_ASSIGN_OR_RETURN(const std::string text, ValueText(name, item));
      absl::StrAppend(&joined, joined.empty() ? "" : ",", text);
    }
    if (joined.empty()) return absl::OkStatus();
    if (!absl::StrContains(option.get_type_name(), ",")) {
      return UsageError("option '", Escaped(name), "': expected one value, found a list");
    }
    return AddValue(name, flag, joined);
  }

  absl::Status AddPairs(const std::string& name, const std::string& flag, const CLI::Option& option,
                        const Json& pairs) {
    if (!absl::StrContains(option.get_type_name(), "=")) {
      return UsageError("option '", Escaped(name), "': expected a text or a number, found an object");
    }
    for (const auto& [key, value] : pairs.items()) {
      AMP_ASSIGN_OR_RETURN(const std::string text, ValueText(name, value));
      AMP_RETURN_IF_ERROR(AddValue(name, flag, absl::StrCat(key, "=", text)));
    }
    return absl::OkStatus();
  }

  const CLI::App& app_;
  std::vector<std::string>& arguments_;
};

absl::StatusOr<std::vector<std::string>> ArgumentsOf(const CLI::App& app, const Json& options) {
  std::vector<std::string> arguments;
  ArgumentMaker maker(app, arguments);
  for (const auto& [name, value] : options.items()) AMP_RETURN_IF_ERROR(maker.Add(name, value));
  return arguments;
}

absl::Status Parse(CLI::App& app, const char* json, const std::vector<std::string>& flags_with_equals = {}) {
  AMP_ASSIGN_OR_RETURN(const Json options, ParseObject(json));
  AMP_ASSIGN_OR_RETURN(std::vector<std::string> arguments, ArgumentsOf(app, options));
  for (std::string& argument : arguments) {
    if (argument == "--no-fuse") absl::StrAppend(&argument, "=", kNoFusion);
  }
  return ParseCommandLine(app, arguments, flags_with_equals).status();
}

// The flags of sessions, and what the words of some are for.
struct SessionApp {
  SessionApp() : app("", "amp-run") {
    DeclareSessionFlags(app, "Session", choices.options, choices.autotune, words);
    AddNumber(app, "Session", "--seed", choices.options.seed, std::numeric_limits<uint64_t>::max(),
              "of nodes that draw random numbers and state no seed");
    AddLimits(app, choices.options.limits);
  }

  CLI::App app;
  SessionWords words;
  SessionChoices choices;
};

Json Describe(const CLI::Option& option) {
  const std::string flag = LongFlag(option), type = option.get_type_name();
  const bool is_real = type == "X", is_whole = type == "N";
  return {{"name", NameOf(flag)},
          {"flag", flag},
          {"group", option.get_group()},
          {"help", option.get_description()},
          {"type", type},
          {"form", HasOptionalValue(option) ? "optional value"
                   : IsSwitch(option)       ? "switch"
                                            : "value"},
          {"repeats", Repeats(option)},
          {"number", is_real    ? "real"
                     : is_whole ? "integer"
                                : ""}};
}

std::string Schema(const CLI::App& app) {
  Json schema = Json::array();
  for (const CLI::Option* option : app.get_options()) {
    if (IsOption(*option)) schema.push_back(Describe(*option));
  }
  return schema.dump();
}

}  // namespace

absl::StatusOr<RewriteOptions> RewriteOptionsOfJson(const char* json) {
  Arguments declared;
  CLI::App app("", "amp-rewrite");
  DeclareFlags(app, declared);
  AMP_ASSIGN_OR_RETURN(Json words, ParseObject(json));
  std::optional<onnx::FunctionProto> loss_scale_function;
  if (const auto found = words.find(kLossScaleFunction); found != words.end()) {
    AMP_ASSIGN_OR_RETURN(loss_scale_function, FunctionOf(*found));
    words.erase(found);
  }
  std::vector<std::string> kept_names;  // a list of names: the flag cannot tell commas in them from those between
  if (const auto found = words.find("keep_io"); found != words.end() && found->is_array()) {
    for (const Json& name : *found) {
      AMP_ASSIGN_OR_RETURN(kept_names.emplace_back(), ValueText("keep_io", name));
    }
    *found = "none";
  }
  AMP_ASSIGN_OR_RETURN(std::vector<std::string> arguments, ArgumentsOf(app, words));
  arguments.emplace_back("model.onnx");  // the files are arguments of the functions
  AMP_ASSIGN_OR_RETURN(const ParsedArguments parsed, ParseArguments(arguments));
  if (parsed.arguments.options.report) return UsageError("--report: expected a path, found '-'");
  RewriteOptions options = parsed.arguments.options;
  options.keep_io_names = kept_names.empty() ? options.keep_io_names : kept_names;
  options.train.loss_scale_function = std::move(loss_scale_function);
  return options;
}

absl::StatusOr<SessionChoices> SessionChoicesOfJson(const char* json) {
  SessionApp session;
  AMP_RETURN_IF_ERROR(Parse(session.app, json));
  AMP_ASSIGN_OR_RETURN(session.choices.device, InterpretSessionWords(session.words, session.choices.options));
  const bool may_be_gpu = session.choices.device.is_auto || session.choices.device.ordinal.has_value();
  if (!session.choices.autotune.empty() && !may_be_gpu) return UsageError("--autotune is for --device cuda");
  return std::move(session.choices);
}

absl::StatusOr<RandomInputChoices> RandomInputChoicesOfJson(const char* json) {
  RandomInputChoices choices;
  std::vector<std::string> dims;
  CLI::App app("", "amp-run");
  AddNumber(app, "", "--seed", choices.seed, std::numeric_limits<uint64_t>::max(), "");
  app.add_option("--dims", dims, "")->type_name("NAME=N")->expected(1)->take_all()->allow_extra_args(false);
  AMP_RETURN_IF_ERROR(Parse(app, json));
  AMP_ASSIGN_OR_RETURN(choices.dims, ReadDims(dims));
  return choices;
}

absl::StatusOr<std::optional<double>> ToleranceOfJson(const char* json) {
  std::optional<double> tolerance;
  CLI::App app("", "amp-run");
  AddNumberAs(app, "", "--tolerance", tolerance, 1e30, "");
  AMP_RETURN_IF_ERROR(Parse(app, json));
  return tolerance;
}

absl::StatusOr<NewModelChoices> NewModelChoicesOfJson(const char* json) {
  NewModelChoices choices;
  CLI::App app("", "amp-train new");
  AddNumber(app, "", "--seed", choices.seed, std::numeric_limits<uint64_t>::max(), "");
  app.add_option("--task", choices.task, "")->type_name("classification|regression");
  AMP_RETURN_IF_ERROR(Parse(app, json));
  return choices;
}

absl::StatusOr<std::string> OptionsSchema(const std::string& of) {
  if (of == "session") return Schema(SessionApp().app);
  if (of != "rewrite") return UsageError("expected rewrite or session, found '", Escaped(of), "'");
  Arguments declared;
  CLI::App app("", "amp-rewrite");
  DeclareFlags(app, declared);
  return Schema(app);
}

}  // namespace amp
