#include "tools/rewrite/declare_flags.h"

#include "CLI/CLI.hpp"
#include "ir/base/status.h"
#include "tools/library/rewrite_flags.h"
#include "tools/library/train_flags.h"
#include "tools/library/version.h"
#include "tools/program/flag_values.h"

namespace amp {
namespace {

constexpr char kPurpose[] =
    "Rewrites a float32 ONNX model to mixed precision: operators that are safe and fast in 16 bits run in float16 or\n"
    "bfloat16, the rest stays float32, inputs and outputs keep their types, and a report says why for every node.\n";
constexpr char kFooter[] = R"(Examples:
  amp-rewrite model.onnx -o mixed.onnx --explain           float16, with the reason for every node
  amp-rewrite model.onnx -o mixed.onnx --dtype bfloat16 --deny-node '/head/*' --report why.json
  amp-rewrite mixed.onnx -o back.onnx --policy float32     the other way round

Exit codes: 0 ok, 2 usage or list file, 3 malformed or unsupported model, 4 refused by a safety rule,
  5 a limit (--max-...), 6 input or output, 7 --verify: the models differ, --search: nothing is within, 70 internal
  error, 130 and 143 stopped by SIGINT and SIGTERM. A failure is one line and changes no file.

Going on: --explain --dry-run shows what would happen. A node is float32 against your will: its reason is in that
table; --allow OP, --allow-node GLOB. Results are off: --deny-node GLOB bisects. --print-lists shows the rules that
decide, ready to be edited and given to --lists. passes/README.md has the report's fields, tools/README.md the library.)";

const EnumNames<std::string> kShells = {{"bash", "bash"}};

template <typename Options>
CLI::Option* Declare(CLI::App& app, const Flag<Options>& row, FlagText& text) {
  switch (row.access.form) {
    case FlagForm::kSwitch:
      return app.add_flag(row.name, text.is_on, row.help);
    case FlagForm::kOptionalValue:
      return app.add_flag(row.name, text.text, row.help)->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    case FlagForm::kValue:
      return app.add_option(row.name, text.text, row.help)->type_name(row.type);
    case FlagForm::kRepeated:
      break;
  }
  // With allow_extra_args CLI11 would take "[ab]" for a list and its brackets away.
  return app.add_option(row.name, text.texts, row.help)
      ->type_name(row.type)
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
}

template <typename Options>
void DeclareTable(CLI::App& app, const FlagTable<Options>& table, Arguments& a) {
  for (const Flag<Options>& row : table) Declare(app, row, a.texts[row.name])->group(row.group);
}

template <typename Options>
std::vector<std::string> TextsOf(const Flag<Options>& row, const FlagText& given) {
  constexpr absl::string_view kWithoutValue = "true";
  switch (row.access.form) {
    case FlagForm::kSwitch:
      return SwitchValues(given.is_on);
    case FlagForm::kRepeated:
      return given.texts;
    case FlagForm::kValue:
    case FlagForm::kOptionalValue:
      break;
  }
  if (given.text.empty()) return {};
  const bool is_alone = row.access.form == FlagForm::kOptionalValue && given.text == kWithoutValue;
  return {is_alone ? "" : given.text};
}

template <typename Options>
absl::Status ReadTable(const FlagTable<Options>& table, const Arguments& a, Options& options) {
  for (const Flag<Options>& row : table) {
    for (const std::string& text : TextsOf(row, a.texts.at(row.name))) {
      AMP_RETURN_IF_ERROR(row.access.read({row.name, row.type, text}, options));
    }
  }
  return absl::OkStatus();
}

}  // namespace

void DeclareFlags(CLI::App& app, Arguments& a) {
  app.description(kPurpose);
  app.footer(kFooter);
  app.set_version_flag("--version", VersionText(), "print the versions of this and of what it was built with, and stop")
      ->group("Help");
  app.get_formatter()->column_width(30);
  app.get_help_ptr()->group("Help")->description("print this and stop");
  app.add_option("MODEL", a.input, "ONNX model to rewrite")->type_name("");
  app.add_option("-o,--output", a.output, "where the result goes")->type_name("OUT.onnx")->group("Files");
  DeclareTable(app, RewriteFlags(), a);
  const std::string printed = "What is printed";
  app.add_flag("--print-lists", a.print_lists, "print the effective lists for --dtype and stop")->group(printed);
  app.add_flag("--list-profiles", a.list_profiles, "print the profiles, a line each, and stop")->group(printed);
  AddChoice(app, printed, "--completion", a.completion, kShells, "bash", "print a completion script and stop");
  app.add_flag("-q,--quiet", a.quiet, "print errors, and what is asked for (--explain, --diff, --print-after), alone")
      ->group(printed);
  app.add_flag("-v,--verbose", a.verbose, "print every warning")->group(printed);
  DeclareTable(app, TrainFlags(), a);
  AddLimits(app, a.options.limits);
}

absl::Status ReadTexts(Arguments& a) {
  AMP_RETURN_IF_ERROR(ReadTable(RewriteFlags(), a, a.options));
  return ReadTable(TrainFlags(), a, a.options.train);
}

std::vector<std::string> FlagsWithEquals() {
  std::vector<std::string> names;
  for (const Flag<RewriteOptions>& row : RewriteFlags()) {
    if (row.access.form == FlagForm::kOptionalValue) names.push_back(row.name);
  }
  return names;
}

}  // namespace amp
