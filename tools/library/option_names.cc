#include "tools/library/option_names.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tools/library/limit_flags.h"
#include "tools/library/train_options.h"

namespace amp {
namespace {

class FlagLister {
 public:
  explicit FlagLister(std::vector<std::string>& flags) : flags_(flags) {}

  template <typename Enum>
  void AddEnum(const char* flag, Enum value) {
    const auto& names = NamesOf(value);
    const auto it = std::find_if(names.begin(), names.end(), [&](const auto& name) { return name.second == value; });
    Add(flag, it->first);
  }
  void Add(const char* flag, const auto& value) { flags_.push_back(absl::StrCat(flag, "=", value)); }
  void AddSwitch(const char* flag, bool is_on) {
    if (is_on) flags_.emplace_back(flag);
  }
  void AddAll(const char* flag, const std::vector<std::string>& values) {
    for (const std::string& value : values) Add(flag, value);
  }
  template <typename Enum>
  void AddEnumUnless(const char* flag, Enum value, Enum usual) {
    if (value != usual) AddEnum(flag, value);
  }
  void AddUnless(const char* flag, const auto& value, const auto& usual) {
    if (value != usual) Add(flag, value);
  }

 private:
  std::vector<std::string>& flags_;
};

void AddDecisions(const RewriteOptions& o, FlagLister& list) {
  const RewriteOptions usual;
  if (o.policy) list.AddEnum("--policy", *o.policy);
  if (o.dtype) list.AddEnum("--dtype", *o.dtype);
  list.AddUnless("--target", o.target, usual.target);
  list.AddUnless("--profile", o.profile, usual.profile);
  list.AddAll("--lists", o.lists);
  list.AddAll("--allow", o.allow);
  list.AddAll("--infer", o.infer);
  list.AddAll("--deny", o.deny);
  list.AddAll("--clear", o.clear);
  list.AddAll("--deny-node", o.deny_node);
  list.AddAll("--allow-node", o.allow_node);
  list.AddAll("--deny-tensor", o.deny_tensor);
  list.AddAll("--op-signature", o.op_signatures);
  if (o.follow) list.Add("--follow", *o.follow ? "on" : "off");
  if (o.placement) list.AddEnum("--placement", *o.placement);
  list.AddEnumUnless("--level", o.level, usual.level);
  list.AddEnumUnless("--guards", o.guards, usual.guards);
  if (o.max_weight_error != usual.max_weight_error) {
    list.Add("--max-weight-error", absl::StrFormat("%.17g", o.max_weight_error));
  }
  list.AddEnumUnless("--preserve", o.preserve, usual.preserve);
  if (o.keep_io) {
    list.Add("--keep-io", *o.keep_io ? "all" : o.keep_io_names.empty() ? "none" : absl::StrJoin(o.keep_io_names, ","));
  }
  if (o.weights) list.AddEnum("--weights", *o.weights);
  list.AddAll("--calibration", o.calibration);
  if (!o.ranges.empty()) list.Add("--ranges", o.ranges);
  using Verify = RewriteOptions::Verify;
  if (o.verify != usual.verify || !o.verify_file.empty()) {
    const char* const word = o.verify == Verify::kOff ? "off" : o.verify == Verify::kFix ? "fix" : "";
    list.Add("--verify", o.verify_file.empty() ? word : o.verify_file);
  }
  for (const auto& [name, dim] : o.dims) list.Add("--dim", absl::StrCat(name, "=", dim));
  for (const auto& [place, symbol] : o.free_dims) list.Add("--dim", absl::StrCat(place, "=", symbol));
  if (o.tolerance) list.Add("--tolerance", *o.tolerance);
  if (o.sensitivity) {
    o.sensitivity_file.empty() ? list.AddSwitch("--sensitivity", true) : list.Add("--sensitivity", o.sensitivity_file);
  }
  list.AddUnless("--measure", o.measure, usual.measure);
  list.AddSwitch("--search", o.search);
  if (o.max_error) list.Add("--max-error", *o.max_error);
  list.AddUnless("--holdout", o.holdout, usual.holdout);
  list.AddUnless("--budget-runs", o.budget_runs, usual.budget_runs);
  list.AddSwitch("--freeze-initializers", o.freeze_initializers);
  list.AddSwitch("--keep-batch-norm", o.keep_batch_norm);
  list.AddSwitch("--keep-decomposed", o.keep_decomposed);
  list.AddEnumUnless("--scale-weights", o.scale_weights, usual.scale_weights);
  list.AddEnumUnless("--functions", o.functions, usual.functions);
  if (o.keep_opset) list.Add("--opset", "keep");
  if (o.opset) list.Add("--opset", *o.opset);
  list.AddSwitch("--strict", o.strict);
  if (!o.stop_after.empty()) list.Add("--stop-after", o.stop_after);
}

void AddTraining(const TrainOptions& options, FlagLister& list) {
  list.AddSwitch("--train", options.train);
  for (const TrainFlag& flag : SetTrainFlags(options)) {
    if (flag.value.empty()) {
      list.AddSwitch(flag.flag.c_str(), true);
    } else {
      list.Add(flag.flag.c_str(), flag.value);
    }
  }
}

void AddLimits(const RewriteOptions::Limits& limits, FlagLister& list) {
  const RewriteOptions::Limits usual;
  std::vector<int64_t> usual_values;
  ForEachLimit(usual, [&](const char*, int64_t value, int64_t, const char*) { usual_values.push_back(value); });
  auto usual_value = usual_values.begin();
  ForEachLimit(limits, [&](const char* flag, int64_t value, int64_t, const char*) {
    list.AddUnless(flag, value, *usual_value++);
  });
}

}  // namespace

const EnumNames<RewriteOptions::Dtype>& NamesOf(RewriteOptions::Dtype) {
  using Dtype = RewriteOptions::Dtype;
  static const EnumNames<Dtype> names = {{"float16", Dtype::kFloat16}, {"fp16", Dtype::kFloat16},
                                         {"half", Dtype::kFloat16},    {"bfloat16", Dtype::kBfloat16},
                                         {"bf16", Dtype::kBfloat16},   {"auto", Dtype::kAuto}};
  return names;
}

const EnumNames<RewriteOptions::Policy>& NamesOf(RewriteOptions::Policy) {
  using Policy = RewriteOptions::Policy;
  static const EnumNames<Policy> names = {{"mixed_float16", Policy::kMixedFloat16},
                                          {"mixed_bfloat16", Policy::kMixedBfloat16},
                                          {"float32", Policy::kFloat32},
                                          {"float16", Policy::kFloat16},
                                          {"bfloat16", Policy::kBfloat16}};
  return names;
}

const EnumNames<RewriteOptions::Level>& NamesOf(RewriteOptions::Level) {
  using Level = RewriteOptions::Level;
  static const EnumNames<Level> names = {{"default", Level::kDefault},
                                         {"treat-infer-as-deny", Level::kTreatInferAsDeny},
                                         {"tensor-cores-only", Level::kTensorCoresOnly},
                                         {"unsafe-force-all", Level::kUnsafeForceAll}};
  return names;
}

const EnumNames<RewriteOptions::Placement>& NamesOf(RewriteOptions::Placement) {
  using Placement = RewriteOptions::Placement;
  static const EnumNames<Placement> names = {
      {"paint", Placement::kPaint}, {"cut", Placement::kCut}, {"fewest-casts", Placement::kFewestCasts}};
  return names;
}

const EnumNames<RewriteOptions::Weights>& NamesOf(RewriteOptions::Weights) {
  using Weights = RewriteOptions::Weights;
  static const EnumNames<Weights> names = {{"convert", Weights::kConvert}, {"cast", Weights::kCast}};
  return names;
}

const EnumNames<RewriteOptions::ScaleWeights>& NamesOf(RewriteOptions::ScaleWeights) {
  using ScaleWeights = RewriteOptions::ScaleWeights;
  static const EnumNames<ScaleWeights> names = {
      {"low-data", ScaleWeights::kLowData}, {"always", ScaleWeights::kAlways}, {"never", ScaleWeights::kNever}};
  return names;
}

const EnumNames<RewriteOptions::Preserve>& NamesOf(RewriteOptions::Preserve) {
  using Preserve = RewriteOptions::Preserve;
  static const EnumNames<Preserve> names = {{"tensor", Preserve::kTensor}, {"node", Preserve::kNode}};
  return names;
}

const EnumNames<RewriteOptions::Guards>& NamesOf(RewriteOptions::Guards) {
  using Guards = RewriteOptions::Guards;
  static const EnumNames<Guards> names = {
      {"all", Guards::kAll}, {"constants", Guards::kConstants}, {"none", Guards::kNone}};
  return names;
}

const EnumNames<RewriteOptions::Functions>& NamesOf(RewriteOptions::Functions) {
  using Functions = RewriteOptions::Functions;
  static const EnumNames<Functions> names = {{"inline", Functions::kInline},
                                             {"inline-all", Functions::kInlineAll},
                                             {"keep", Functions::kKeep},
                                             {"specialise", Functions::kSpecialise}};
  return names;
}

const EnumNames<RewriteOptions::ExternalData>& NamesOf(RewriteOptions::ExternalData) {
  using ExternalData = RewriteOptions::ExternalData;
  static const EnumNames<ExternalData> names = {
      {"auto", ExternalData::kAuto}, {"always", ExternalData::kAlways}, {"never", ExternalData::kNever}};
  return names;
}

const EnumNames<Optimizer>& NamesOf(Optimizer) {
  static const EnumNames<Optimizer> names = {{"sgd", Optimizer::kSgd},
                                             {"momentum", Optimizer::kMomentum},
                                             {"rmsprop", Optimizer::kRmsprop},
                                             {"adam", Optimizer::kAdam},
                                             {"adamw", Optimizer::kAdamw}};
  return names;
}

std::string FirstDecidingFlag(const RewriteOptions& options) {
  RewriteOptions others = options;
  others.policy.reset();
  others.dtype.reset();
  others.weights.reset();
  others.keep_io.reset();
  others.op_signatures.clear();
  others.strict = false;
  if (others.verify == RewriteOptions::Verify::kOff)
    others.verify = RewriteOptions::Verify::kAuto;  // no decision either
  std::vector<std::string> flags;
  FlagLister list(flags);
  AddDecisions(others, list);
  return flags.empty() ? "" : flags.front().substr(0, flags.front().find('='));
}

std::vector<std::string> ChangedFlags(const RewriteOptions& options) {
  std::vector<std::string> flags;
  FlagLister list(flags);
  AddDecisions(options, list);
  list.AddEnumUnless("--external-data", options.external_data, RewriteOptions().external_data);
  list.AddSwitch("--annotate", options.annotate);
  list.AddSwitch("--in-place", options.in_place);
  list.AddSwitch("--force", options.force);
  list.AddSwitch("--dry-run", options.dry_run);
  AddTraining(options.train, list);
  AddLimits(options.limits, list);
  return flags;
}

}  // namespace amp
