#include "tools/library/rewrite_flags.h"

#include <filesystem>
#include <iterator>
#include <map>
#include <system_error>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ir/file/external_data.h"
#include "ir/opset/opset_adapters.h"
#include "passes/report/stages.h"
#include "tools/library/amp.h"
#include "tools/library/check_options.h"
#include "tools/library/limit_flags.h"
#include "tools/library/train_flags.h"
#include "tools/library/train_options.h"

namespace amp {
namespace {

using O = RewriteOptions;
using Values = std::vector<std::string>;

// Files of the modes' names are given as ./off
absl::Status ReadVerify(const GivenFlag& given, O& options) {
  using Verify = O::Verify;
  static const std::map<std::string, Verify> kModes = {
      {"", Verify::kOn}, {"auto", Verify::kAuto}, {"off", Verify::kOff}, {"fix", Verify::kFix}};
  const auto mode = kModes.find(given.text);
  options.verify = mode == kModes.end() ? Verify::kOn : mode->second;
  if (mode != kModes.end()) return absl::OkStatus();
  std::error_code error;
  if (!absl::StrContains(given.text, '.') && !std::filesystem::exists(given.text, error)) {
    return UsageError("--verify: expected a file, fix, off or auto, found '", Escaped(given.text), "'");
  }
  options.verify_file = given.text;
  return absl::OkStatus();
}

Values VerifyValues(const O& options) {
  using Verify = O::Verify;
  if (!options.verify_file.empty()) return {options.verify_file};
  if (options.verify == Verify::kAuto) return {};
  return {options.verify == Verify::kOff ? "off" : options.verify == Verify::kFix ? "fix" : ""};
}

absl::Status ReadFollow(const GivenFlag& given, O& options) {
  options.follow.reset();
  if (given.text == "profile") return absl::OkStatus();
  if (given.text != "on" && given.text != "off") {
    return UsageError("--follow: expected on or off, found '", Escaped(given.text), "'",
                      HintForValue(given.name, given.text));
  }
  options.follow = given.text == "on";
  return absl::OkStatus();
}

Values FollowValues(const O& options) {
  return options.follow.has_value() ? Values{*options.follow ? "on" : "off"} : Values();
}

absl::Status ReadOpset(const GivenFlag& given, O& options) {
  int version = 0;
  options.keep_opset = given.text == "keep";
  options.opset.reset();
  if (options.keep_opset || given.text == "auto") return absl::OkStatus();
  if (!absl::SimpleAtoi(given.text, &version) || version <= 0) {
    return UsageError("--opset: expected auto, keep or a version, found '", Escaped(given.text), "'",
                      HintForValue(given.name, given.text));
  }
  options.opset = version;
  return absl::OkStatus();
}

Values OpsetValues(const O& options) {
  if (options.opset.has_value()) return {absl::StrCat(*options.opset)};
  return options.keep_opset ? Values{"keep"} : Values();
}

absl::Status ReadKeepIo(const GivenFlag& given, O& options) {
  options.keep_io = given.text == "all";
  const bool has_names = given.text != "all" && given.text != "none";
  options.keep_io_names = has_names ? Values(absl::StrSplit(given.text, ',')) : Values();
  return absl::OkStatus();
}

Values KeepIoValues(const O& options) {
  if (!options.keep_io.has_value()) return {};
  if (*options.keep_io) return {"all"};
  return {options.keep_io_names.empty() ? "none" : absl::StrJoin(options.keep_io_names, ",")};
}

absl::Status ReadScaleWeights(const GivenFlag& given, O& options) {
  const std::string text = given.text.empty() ? "always" : given.text;
  const auto scaling = ParseChoice(text, NamesOf(options.scale_weights), "nothing or =low-data|always|never");
  if (!scaling.ok()) return UsageError("--scale-weights: ", scaling.status().message());
  options.scale_weights = *scaling;
  return absl::OkStatus();
}

// A sample, or a folder of them: its .npz files, by name.
absl::Status ReadCalibration(const GivenFlag& given, O& options) {
  std::error_code error;
  if (!std::filesystem::is_directory(given.text, error)) {
    options.calibration.push_back(given.text);
    return absl::OkStatus();
  }
  std::vector<std::string> samples;
  for (std::filesystem::directory_iterator it(given.text, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".npz") samples.push_back(it->path().string());
  }
  if (error || samples.empty()) {
    return InFile(Escaped(given.text), UsageError(given.name, ": expected samples (.npz) in the folder, found ",
                                                  error ? error.message() : "none"));
  }
  absl::c_sort(samples);
  options.calibration.insert(options.calibration.end(), samples.begin(), samples.end());
  return absl::OkStatus();
}

// "x:0=batch" names a dimension, "batch=8" gives one a size.
absl::Status ReadDim(const GivenFlag& given, O& options) {
  AMP_ASSIGN_OR_RETURN(const auto pair, SplitPair(given.name, given.text, "NAME=N or INPUT:AXIS=NAME"));
  const auto& [place, value] = pair;
  if (absl::ascii_isalpha(static_cast<unsigned char>(value[0])) || value[0] == '_') {
    return options.free_dims.emplace(place, value).second ? absl::OkStatus() : GivenTwice(given.name, place);
  }
  AMP_ASSIGN_OR_RETURN(const auto size, ReadDims({given.text}));
  return options.dims.insert(*size.begin()).second ? absl::OkStatus() : GivenTwice(given.name, place);
}

Values DimValues(const O& options) {
  Values values;
  for (const auto& [name, size] : options.dims) values.push_back(absl::StrCat(name, "=", size));
  for (const auto& [place, symbol] : options.free_dims) values.push_back(absl::StrCat(place, "=", symbol));
  return values;
}

absl::Status ReadSensitivity(const GivenFlag& given, O& options) {
  options.sensitivity = given.text != "false";
  if (options.sensitivity) options.sensitivity_file = given.text;
  return absl::OkStatus();
}

Values SensitivityValues(const O& options) { return options.sensitivity ? Values{options.sensitivity_file} : Values(); }

absl::Status ReadExplain(const GivenFlag& given, O& options) {
  options.explain = given.text.empty();
  options.explain_float32 = given.text == "float32";
  if (options.explain || options.explain_float32) return absl::OkStatus();
  return UsageError("--explain: expected nothing or =float32, found '", Escaped(given.text), "'");
}

Values ExplainValues(const O& options) {
  if (options.explain_float32) return {"float32"};
  return options.explain ? Values{""} : Values();
}

// "-" is standard output, where the programs write the summary's text.
absl::Status ReadReport(const GivenFlag& given, O& options) {
  options.report = given.text == "-";
  options.report_file = options.report ? "" : given.text;
  return absl::OkStatus();
}

Values ReportValues(const O& options) {
  if (!options.report_file.empty()) return {options.report_file};
  return options.report ? Values{"-"} : Values();
}

void AddVerifyFile(const std::string& name, const O& options, FileUses& uses) {
  uses.reads.push_back({name, options.verify_file});
}

void AddRangesFile(const std::string& name, const O& options, FileUses& uses) {
  if (options.calibration.empty()) {
    uses.reads.push_back({name, options.ranges});
  } else {
    uses.writes.push_back({name, options.ranges, FileKind::kJson});
  }
}

// Read where it exists, then written.
void AddSearchLog(const std::string& name, const O& options, FileUses& uses) {
  uses.reads.push_back({name, options.search_log});
  uses.writes.push_back({name, options.search_log, FileKind::kJson});
}

void AddSensitivityFile(const std::string& name, const O& options, FileUses& uses) {
  uses.writes.push_back({name, options.sensitivity_file, FileKind::kCsv});
}

void AddReportFile(const std::string& name, const O& options, FileUses& uses) {
  uses.writes.push_back({name, options.report_file, KindOfReport(options)});
}

const FlagTraits<O> kDescribes = {.use = FlagUse::kDescribes};
const FlagTraits<O> kOfFiles = {.use = FlagUse::kDescribes, .is_of_files = true};
const FlagTraits<O> kPrints = {.use = FlagUse::kPrints};
const FlagTraits<O> kOfSearch = {.needs = "--search"};

FlagTable<O> FileFlags() {
  return {{"--in-place", "", "replace MODEL by the result", Switch(&O::in_place), kOfFiles},
          {"--force", "", kForceHelp, Switch(&O::force), kOfFiles},
          {"--external-data", "auto|always|never",
           absl::StrCat("weights of ", kSmallTensorBytes,
                        " bytes and more in a file beside the model, smaller ones\n"
                        "in the model; auto: as in MODEL, and always above 1.5 GiB. The file is OUT.onnx.HASH.data\n"
                        "beside OUT.onnx; that of an earlier OUT.onnx is removed [auto]"),
           Choice(&O::external_data), kOfFiles}};
}

FlagTable<O> TypeFlags() {
  return {{"--dtype", "float16|bfloat16|auto",
           "the low type (also fp16, half, bf16); auto: what --target is fast with; without one float16,\n"
           "which every runtime loads, and what this machine is fast with is said [float16]",
           Choice(&O::dtype), kDescribes},
          {"--policy", "mixed_float16|mixed_bfloat16|float32|float16|bfloat16",
           "the types in one word, as in Keras. mixed_*: low compute; inputs, outputs, the last Softmax\n"
           "and the weights in the file stay float32 (weights are cast where they are used; without\n"
           "--policy they are stored low, in half the size). float16, bfloat16: weights, inputs and\n"
           "outputs become low too, where the operators beside them do. float32: take an earlier\n"
           "rewrite of this tool back (with --train: nothing is low)",
           Choice(&O::policy), kDescribes},
          {"--target", "any|auto|cuda:CC|cpu:avx2|cpu:avx512|cpu:avx512_bf16|cpu:amx|xpu|tpu",
           "convert only if this hardware is fast with the low type; auto: this machine [any]", Text(&O::target)},
          {"--profile", absl::StrJoin(ListProfiles(), "|"),
           WithDefault("base operator lists, see --list-profiles", O().profile), Text(&O::profile)}};
}

FlagTable<O> ListFlags() {
  const std::string items = "OP[,OP...]";
  return {{"--lists", "FILE", "overlay list file (repeatable; later ones win)", Texts(&O::lists), Reads(&O::lists)},
          {"--allow", items,
           "run these operators, or all of these functions, low; -OP takes one off all lists (repeatable)",
           Texts(&O::allow)},
          {"--infer", items, "low where it saves casts between allowed operators (repeatable)", Texts(&O::infer)},
          {"--deny", items, "keep these, and what follows from them, float32 (repeatable)", Texts(&O::deny)},
          {"--clear", items, "follow the neighbours' type (repeatable)", Texts(&O::clear)},
          {"--deny-node", "GLOB",
           "keep nodes float32 by name, or path as reports print it; * ? [...] match, except in a GLOB that is\n"
           "a name or path as it stands; that of a call means all nodes inlined from it (repeatable)",
           Texts(&O::deny_node)},
          {"--allow-node", "GLOB", "run nodes low by name, whatever lists and guards say (repeatable)",
           Texts(&O::allow_node)},
          {"--deny-tensor", "GLOB", "keep the producers of these tensors float32 (repeatable)", Texts(&O::deny_tensor)},
          {"--op-signature", "SIGNATURE",
           "types of an operator that ONNX does not define, so that --allow and others work on it (repeatable):\n"
           "[DOMAIN::]OP(PORT, ...) -> PORT|(PORT, ...) [where T in {float, float16}, ...]\n"
           "PORT: [NAME:] TYPE[?|...], ? for one that may be absent, ... for any number from there on;\n"
           "TYPE: float, int64 and so on, or a variable such as T: one type wherever it stands",
           Texts(&O::op_signatures), kDescribes}};
}

FlagTable<O> PlacementFlags() {
  return {
      {"--level", "default|treat-infer-as-deny|tensor-cores-only|unsafe-force-all",
       "treat-infer-as-deny: operators of class infer stay float32, clear ones may follow.\n"
       "tensor-cores-only: those of class allow alone become low. unsafe-force-all: all that can,\n"
       "deny lists and guards are ignored [default]",
       Choice(&O::level)},
      {"--placement", "paint|cut|fewest-casts",
       "who decides on operators of class infer and clear. paint: TensorFlow's rules. cut: the type in which\n"
       "the fewest bytes are moved, casts included. fewest-casts: what is said [as the profile says; cut in default]",
       Choice(&O::placement)},
      {"--functions", "inline|inline-all|keep|specialise",
       "calls of model-local functions: inlined (-all: domain ai.amp too), kept float32, or copies per type [inline]",
       Choice(&O::functions)},
      {"--follow",
       "on|off",
       "infer operators follow an allowed producer; implies --placement paint [as the profile says]",
       {FlagForm::kValue, ReadFollow, FollowValues}}};
}

FlagTable<O> SafetyFlags() {
  return {
      {"--guards", "all|constants|none",
       "keep high what goes wrong in 16 bits; constants: only for constants that these cannot hold [all]",
       Choice(&O::guards)},
      {"--max-weight-error", "X", WithDefault("largest relative L2 rounding error of a weight", O().max_weight_error),
       Number(&O::max_weight_error, 1e30)},
      {"--keep-io",
       "all|none|NAME[,NAME...]",
       "graph inputs and outputs that keep float32; the others become low where an operator\n"
       "that is low reads or gives them (advice names those that do not). Before IR version 4,\n"
       "initializers are listed among the inputs, and count as weights [all]",
       {FlagForm::kValue, ReadKeepIo, KeepIoValues},
       kDescribes},
      {"--preserve", "tensor|node", "tensor: an output's producer may become low; node: it may not [tensor]",
       Choice(&O::preserve)},
      {"--weights", "convert|cast", "convert weights now, or keep them float32 and cast at run time [convert]",
       Choice(&O::weights), kDescribes},
      {"--freeze-initializers", "",
       "make constants of initializers that callers may override (before IR version 4 none may be:\n"
       "initializers are listed among the inputs, and count as weights)",
       Switch(&O::freeze_initializers)},
      {"--keep-batch-norm", "",
       "leave BatchNormalizations what they are. Else one that would become low is folded into the\n"
       "Conv, ConvTranspose, Gemm or MatMul ahead, or becomes a Mul and an Add, or stays float32\n"
       "(--guards none, --weights cast and --functions specialise imply this flag)",
       Switch(&O::keep_batch_norm)},
      {"--keep-decomposed", "",
       "leave norms that are written out in small operators as they are; otherwise those beside low\n"
       "operators become LayerNormalization and the like, float32 inside",
       Switch(&O::keep_decomposed)},
      {"--scale-weights",
       "",
       "--scale-weights=low-data|always|never: multiply weights of matrix work that are tiny or huge as a\n"
       "whole by a power of two, which is taken off behind the operator; otherwise that stays float32.\n"
       "low-data: tiny ones, where the data are computed in 16 bits anyway or known to fit; always (the flag\n"
       "alone): whatever the data, which do not fit where weights are tiny because data are huge, or the\n"
       "other way round [low-data; never with --guards none, --weights cast, --functions specialise]",
       {FlagForm::kOptionalValue, ReadScaleWeights, Choice(&O::scale_weights).values}},
  };
}

FlagTable<O> SampleFlags() {
  return {
      {"--calibration",
       "FILE.npz|DIR",
       "run the float32 model on this sample, arrays named after the inputs, and keep float32 what leaves\n"
       "the low type's range on it (repeatable). DIR: on each .npz file in it",
       {FlagForm::kRepeated, ReadCalibration, [](const O& options) { return options.calibration; }},
       Reads(&O::calibration)},
      {"--ranges",
       "FILE.json",
       "write what --calibration showed / without that flag: read it from there",
       Text(&O::ranges),
       {.files = AddRangesFile}},
      {"--verify",
       "",
       "--verify=FILE.npz|fix|off|auto: run both models with every rounding applied, on this sample, else on\n"
       "inputs that are made up by declared type and shape. FILE, or the flag alone: write nothing if an\n"
       "output differs by more than --tolerance (exit 7), and name the first value that does, and the\n"
       "--deny-node that mends it. fix: keep float32 what mends it, found as --search does, at most 20 runs.\n"
       "auto: run them where it takes 2 s or less, or twice the time of the rewrite; what differs is a warning,\n"
       "with --strict exit 7 [auto]",
       {FlagForm::kOptionalValue, ReadVerify, VerifyValues},
       {.files = AddVerifyFile}},
      {"--dim",
       "INPUT:AXIS=NAME|NAME=N",
       "x:0=batch: make a fixed dimension of an input symbolic; refused, with the node, where an operator does\n"
       "not compute each sample along it by itself. Without --verify=FILE, NAME=N: the size of a dimension of the\n"
       "inputs that are made up, by its name, or input and axis: x:1=8 (repeatable)",
       {FlagForm::kRepeated, ReadDim, DimValues}},
  };
}

FlagTable<O> SearchFlags() {
  constexpr int64_t kMostParts = int64_t{1} << 31;
  return {
      {"--sensitivity",
       "",
       "--sensitivity=FILE.csv: print which parts of the model lose the most in the low type on the samples\n"
       "of --calibration, with their weights, work and casts; FILE, if there is one, gets the same. Without -o\n"
       "or --in-place no model is written",
       {FlagForm::kOptionalValue, ReadSensitivity, SensitivityValues},
       {.files = AddSensitivityFile}},
      {"--measure",
       "N",
       WithDefault("with --sensitivity: run the first N parts with each of them alone in the low type, too",
                   O().measure),
       Number(&O::measure, kMostParts),
       {.needs = "--sensitivity"}},
      {"--search", "",
       "keep float32 what has to be, so that the outputs on the samples of --calibration are within\n"
       "--max-error, at the largest saving; exit 7 where nothing is. Two samples of eight are for a last run",
       Switch(&O::search)},
      {"--metric", "rel-l2|max-abs|cosine|sqnr|kl|top1",
       "with --search: the error of an output. max-abs: the largest difference of an element; cosine: 1 - cosine;\n"
       "sqnr: signal to noise, of which --max-error is the least, in dB (40 is rel-l2 of 0.01, as reports have it);\n"
       "kl, top1: of rows along the last dimension the divergence, as probabilities, and the share whose largest\n"
       "element is another one; outputs without rows are not judged [rel-l2]",
       Choice(&O::metric), kOfSearch},
      {"--max-error", "X",
       "with --search: the largest error of an output; it aims at 0.85 of that, for other samples' sake\n"
       "[by rel-l2 0.02 for float16, 0.1 for bfloat16]",
       Number(&O::max_error, 1e30), kOfSearch},
      {"--metric-command", "COMMAND",
       "with --search: judge a model by what this prints last, a number, the larger the better: 'python eval.py\n"
       "{model}'. Run by sh in this folder, first for MODEL; --calibration says what to try first",
       Text(&O::metric_command), kOfSearch},
      {"--max-drop", "X", "with --metric-command: how much smaller its number may be than that of MODEL",
       Number(&O::max_drop, 1e30), kOfSearch},
      {"--metric-timeout",
       "N",
       WithDefault("with --metric-command: seconds that it may take each time", O().metric_timeout),
       Number(&O::metric_timeout, kMostParts),
       {.needs = "--metric-command"}},
      {"--holdout", "X",
       WithDefault(
           "with --search: the share of the samples that are kept for the last run; of fewer than 4 samples none",
           O().holdout),
       Number(&O::holdout, 1.0), kOfSearch},
      {"--budget-runs", "N", "with --search: how many choices are run at most [20; with --metric-command 8, MODEL too]",
       Number(&O::budget_runs, kMostParts), kOfSearch},
      {"--search-log",
       "FILE.json",
       "with --search: keep what was run; the same search goes on there after Ctrl-C, or with a larger --budget-runs",
       Text(&O::search_log),
       {.use = FlagUse::kPrints, .needs = "--search", .files = AddSearchLog}},
      {"--search-list", "FILE.list",
       "with --search: a list file (--lists) of these nodes and of those that guards keep;\n"
       "rewrites with it need no samples, but around these nodes others may become low: verify the result",
       Text(&O::search_list), Writes(&O::search_list, FileKind::kList, "--search")},
      {"--pareto", "FILE.csv", "with --search: every choice that was run, its error and what it saves",
       Text(&O::pareto), Writes(&O::pareto, FileKind::kCsv, "--search")},
      {"--tolerance", "X", "relative L2 error of an output [0.02 for float16, 0.1 for bfloat16]",
       Number(&O::tolerance, 1e30)},
      {"--opset",
       "auto|keep|N",
       absl::StrCat("auto: raise the opset where the low type needs it; N: lift to it, at most ", NewestAdaptedOpset(),
                    " [auto]"),
       {FlagForm::kValue, ReadOpset, OpsetValues}},
  };
}

FlagTable<O> PrintedFlags() {
  const std::string stages = absl::StrJoin(StageNames(), "|");
  return {
      {"--report",
       "FILE.json",
       "write what was decided and why: as JSON, or, to FILE.html, as a page for a browser; - for stdout",
       {FlagForm::kValue, ReadReport, ReportValues},
       {.use = FlagUse::kPrints, .files = AddReportFile}},
      {"--node-data", "FILE.json", "write each node's type and reason as an overlay for Model Explorer",
       Text(&O::node_data_file), Writes(&O::node_data_file, FileKind::kJson)},
      {"--annotate", "",
       "write them into the model, where Netron shows them: metadata_props amp.type and amp.why of each node;\n"
       "raises the IR version to 10",
       Switch(&O::annotate), kDescribes},
      {"--explain",
       "",
       "print it as a table; --explain=float32: of nodes those alone that stay float32, no casts and weights",
       {FlagForm::kOptionalValue, ReadExplain, ExplainValues},
       kPrints},
      {"--diff", "", "print the nodes and weights that change", Switch(&O::diff), kPrints},
      {"--print-after", absl::StrCat("all|", stages),
       "print the model, or what was decided, after this stage (repeatable)", Texts(&O::print_after), kPrints},
      {"--stop-after", stages, "write the model as it is after this stage (casts: with --dry-run alone)",
       Text(&O::stop_after)},
      {"--dry-run", "", "decide and print, write no model", Switch(&O::dry_run), kOfFiles},
      {"--strict", "",
       "a GLOB or an operator that matches nothing is an error, and so is what a check by itself finds to differ",
       Switch(&O::strict), kDescribes},
  };
}

void AddGroup(const char* group, FlagTable<O> rows, FlagTable<O>& table) {
  for (Flag<O>& row : rows) row.group = group;
  std::move(rows.begin(), rows.end(), std::back_inserter(table));
}

FlagTable<O> MakeTable() {
  FlagTable<O> table;
  const char* const low = "What becomes low";
  const char* const stays = "What stays";
  AddGroup("Files", FileFlags(), table);
  AddGroup(low, TypeFlags(), table);
  AddGroup(low, ListFlags(), table);
  AddGroup(low, PlacementFlags(), table);
  AddGroup(stays, SafetyFlags(), table);
  AddGroup(stays, SampleFlags(), table);
  AddGroup(stays, SearchFlags(), table);
  AddGroup("What is printed", PrintedFlags(), table);
  return table;
}

template <typename Options>
bool HasFlag(const FlagTable<Options>& table, absl::string_view name) {
  return absl::c_any_of(table, [&](const Flag<Options>& row) { return row.name == name; });
}

}  // namespace

const FlagTable<RewriteOptions>& RewriteFlags() {
  static const FlagTable<O>* const table = new FlagTable<O>(MakeTable());
  return *table;
}

bool IsRewriteFlag(absl::string_view name) { return HasFlag(RewriteFlags(), name); }
bool IsTrainFlag(absl::string_view name) { return HasFlag(TrainFlags(), name); }

std::vector<std::string> ChangedFlags(const RewriteOptions& options) {
  std::vector<std::string> flags;
  const auto is_listed = [](const Flag<O>& row) { return row.traits.use != FlagUse::kPrints; };
  for (const SetFlag& flag : SetFlags(RewriteFlags(), options, is_listed)) flags.push_back(flag.Text());
  if (options.train.train) flags.emplace_back(kTrainFlag);
  for (const SetFlag& flag : SetTrainFlags(options.train)) flags.push_back(flag.Text());
  for (std::string& flag : ChangedLimits(options.limits)) flags.push_back(std::move(flag));
  return flags;
}

std::string FirstDecidingFlag(const RewriteOptions& options) {
  RewriteOptions others = options;
  if (others.verify == O::Verify::kOff) others.verify = O::Verify::kAuto;  // no decision either
  const auto decides = [](const Flag<O>& row) { return row.traits.use == FlagUse::kDecides; };
  const std::vector<SetFlag> flags = SetFlags(RewriteFlags(), others, decides);
  return flags.empty() ? "" : flags.front().flag;
}

}  // namespace amp
