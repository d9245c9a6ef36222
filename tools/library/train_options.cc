#include "tools/library/train_options.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "ir/base/status.h"
#include "passes/classify/suggest.h"
#include "passes/train/optimizers.h"
#include "tools/library/foreign_words.h"
#include "tools/library/train_flags.h"

namespace amp {
namespace {

std::vector<SetFlag> FlagsThatNeed(const char* needed, const TrainOptions& options) {
  return SetFlags(TrainFlags(), options, [&](const Flag<TrainOptions>& row) { return row.traits.needs == needed; });
}

// Options that step graphs alone have.
std::vector<SetFlag> StepFlags(const TrainOptions& options) { return FlagsThatNeed(kTrainFlag, options); }

struct Range {
  double least, most;
  bool with_least = true, with_most = true;

  // As float32, which the step computes in.
  bool Holds(double value) const {
    const double rounded = static_cast<float>(value);
    if (!std::isfinite(rounded)) return false;
    return (with_least ? rounded >= least : rounded > least) && (with_most ? rounded <= most : rounded < most);
  }
  std::string Text() const {
    return absl::StrCat("a number ", with_least ? "of at least " : "above ", least,
                        most >= std::numeric_limits<float>::max() ? ""
                        : with_most                               ? " and at most "
                                                                  : " and below ",
                        most >= std::numeric_limits<float>::max() ? "" : absl::StrCat(most));
  }
};

constexpr double kAny = std::numeric_limits<float>::max();
constexpr Range kNotNegative{0, kAny}, kPositive{0, kAny, false}, kShare{0, 1, true, false}, kAboveOne{1, kAny, false},
    kBelowOne{0, 1, false, false};

// Takes the flag's value where there is one.
absl::Status Take(const char* flag, const std::optional<double>& given, const Range& range, double& value) {
  if (!given) return absl::OkStatus();
  if (!range.Holds(*given)) return UsageError(flag, ": expected ", range.Text(), " in float32, found ", *given);
  value = *given;
  return absl::OkStatus();
}

absl::Status TakeCount(const char* flag, const std::optional<int64_t>& given, int64_t& value) {
  constexpr int64_t kMost = 1'000'000'000;
  if (!given) return absl::OkStatus();
  if (*given < 1 || *given > kMost) {
    return UsageError(flag, ": expected a whole number from 1 to ", kMost, ", found ", *given);
  }
  value = *given;
  return absl::OkStatus();
}

struct OptimizerUse {
  const char* flag;
  std::vector<Optimizer> of;
};

const std::vector<OptimizerUse>& UsesOfFlags() {
  using enum Optimizer;
  static const auto* const uses =
      new std::vector<OptimizerUse>{{"--nesterov", {kMomentum}},  {"--momentum", {kMomentum}},
                                    {"--rho", {kRmsprop}},        {"--epsilon", {kRmsprop, kAdam, kAdamw}},
                                    {"--beta1", {kAdam, kAdamw}}, {"--beta2", {kAdam, kAdamw}},
                                    {"--weight-decay", {kAdamw}}};
  return *uses;
}

// A constant of another optimizer would have no effect.
absl::Status CheckUses(const TrainOptions& options, Optimizer kind) {
  for (const SetFlag& flag : StepFlags(options)) {
    for (const OptimizerUse& use : UsesOfFlags()) {
      if (use.flag != flag.flag || absl::c_linear_search(use.of, kind)) continue;
      std::vector<std::string> names;
      for (const Optimizer each : use.of) names.emplace_back(OptimizerName(each));
      return UsageError(flag.flag, " is about --optimizer ", absl::StrJoin(names, ", "), "; found ",
                        OptimizerName(kind));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<OptimizerSettings> MakeOptimizerSettings(const TrainOptions& o) {
  constexpr double kUsualRate = 0.001, kUsualRateOfSgd = 0.01;
  OptimizerSettings settings;
  settings.kind = o.optimizer.value_or(Optimizer::kRmsprop);
  AMP_RETURN_IF_ERROR(CheckUses(o, settings.kind));
  const bool is_plain = settings.kind == Optimizer::kSgd || settings.kind == Optimizer::kMomentum;
  settings.learning_rate = is_plain ? kUsualRateOfSgd : kUsualRate;
  settings.nesterov = o.nesterov;
  AMP_RETURN_IF_ERROR(Take("--learning-rate", o.learning_rate, kNotNegative, settings.learning_rate));
  AMP_RETURN_IF_ERROR(Take("--momentum", o.momentum, kShare, settings.momentum));
  AMP_RETURN_IF_ERROR(Take("--rho", o.rho, kShare, settings.rho));
  AMP_RETURN_IF_ERROR(Take("--epsilon", o.epsilon, kPositive, settings.epsilon));
  AMP_RETURN_IF_ERROR(Take("--beta1", o.beta1, kShare, settings.beta1));
  AMP_RETURN_IF_ERROR(Take("--beta2", o.beta2, kShare, settings.beta2));
  AMP_RETURN_IF_ERROR(Take("--weight-decay", o.weight_decay, kNotNegative, settings.weight_decay));
  if (o.clip_norm) {
    double norm = 0;
    AMP_RETURN_IF_ERROR(Take("--clip-norm", o.clip_norm, kPositive, norm));
    settings.clip_norm = norm;
  }
  AMP_RETURN_IF_ERROR(TakeCount("--accumulate", o.accumulate, settings.accumulate));
  return settings;
}

// "dynamic", "none" or a number.
absl::Status ParseLossScale(const std::string& text, LossScaleSettings& settings) {
  if (text == "dynamic") {
    settings.kind = LossScaling::kDynamic;
  } else if (text == "none") {
    settings.kind = LossScaling::kNone;
  } else if (double scale = 0; absl::SimpleAtod(text, &scale) && kPositive.Holds(scale)) {
    settings.kind = LossScaling::kFixed;
    settings.initial = scale;
  } else {
    const std::string hint = HintForValue("--loss-scale", text);
    return UsageError("--loss-scale: expected dynamic, none or a positive number, found '", Escaped(text), "'",
                      hint.empty() ? DidYouMean(text, {"dynamic", "none"}) : hint);
  }
  return absl::OkStatus();
}

absl::string_view ScalingName(LossScaling kind) {
  switch (kind) {
    case LossScaling::kNone:
      return "none";
    case LossScaling::kFixed:
      return "a fixed number";
    case LossScaling::kDynamic:
      return "dynamic";
  }
  return "";
}

const char* FiniteCheckFlag(const TrainOptions& o) {
  return o.finite_check.value_or(true) ? "--finite-check" : "--no-finite-check";
}

absl::Status CheckScaleFlags(const TrainOptions& o, const LossScaleSettings& settings) {
  const bool is_dynamic = settings.kind == LossScaling::kDynamic;
  std::vector<SetFlag> flags = FlagsThatNeed(kDynamicScale, o);
  if (!flags.empty() && o.loss_scale_function) {
    return UsageError(flags.front().flag, " has no effect beside loss_scale_function, which decides that");
  }
  if (o.loss_scale_initial) flags.push_back({"--loss-scale-initial", ""});
  if (o.loss_scale_function) flags.push_back({"loss_scale_function", ""});
  if (!is_dynamic && !flags.empty()) {
    return UsageError(flags.front().flag, " is about --loss-scale dynamic; found ", ScalingName(settings.kind),
                      o.loss_scale.empty() ? ", which is what float16 alone does not have by default" : "");
  }
  if (is_dynamic && o.finite_check.has_value()) {
    return UsageError(FiniteCheckFlag(o), " has no effect: --loss-scale dynamic checks all gradients",
                      o.loss_scale.empty() ? ", which float16 has by default; --loss-scale none or X has none" : "");
  }
  if (o.count_skipped_steps && !settings.ChecksGradients()) {
    return UsageError("--count-skipped-steps has no effect: with --no-finite-check, no step is skipped");
  }
  if (o.count_skipped_steps && o.accumulate.value_or(1) > 1) {
    return UsageError("--count-skipped-steps and --accumulate exclude each other: a skipped step is no update");
  }
  return absl::OkStatus();
}

absl::Status TakeRule(const TrainOptions& o, LossScaleSettings& settings) {
  AMP_RETURN_IF_ERROR(Take("--loss-scale-min", o.loss_scale_min, kPositive, settings.min));
  AMP_RETURN_IF_ERROR(Take("--loss-scale-max", o.loss_scale_max, kPositive, settings.max));
  AMP_RETURN_IF_ERROR(Take("--loss-scale-growth", o.loss_scale_growth, kAboveOne, settings.growth));
  settings.backoff = 1 / settings.growth;
  AMP_RETURN_IF_ERROR(Take("--loss-scale-backoff", o.loss_scale_backoff, kBelowOne, settings.backoff));
  AMP_RETURN_IF_ERROR(Take("--loss-scale-initial", o.loss_scale_initial, kPositive, settings.initial));
  AMP_RETURN_IF_ERROR(TakeCount("--loss-scale-interval", o.loss_scale_interval, settings.interval));
  if (settings.min <= settings.initial && settings.initial <= settings.max) return absl::OkStatus();
  return UsageError("--loss-scale-initial: expected a number from ", settings.min, " (--loss-scale-min) to ",
                    settings.max, " (--loss-scale-max), found ", settings.initial);
}

absl::Status ParseLoss(const TrainOptions& o, StepSettings& settings) {
  constexpr absl::string_view kGraphLoss = "graph:";
  const std::string text = o.loss.empty() ? "softmax-cross-entropy" : o.loss;
  absl::string_view name = text;
  if (absl::ConsumePrefix(&name, kGraphLoss) && !name.empty()) {
    settings.loss = LossKind::kGraph;
    settings.loss_output = std::string(name);
    if (!o.logits.empty()) return UsageError("--logits has no effect with --loss graph:NAME, which is whole");
    if (!o.labels.empty()) return UsageError("--labels has no effect with --loss graph:NAME, which reads its own");
    return absl::OkStatus();
  }
  for (const LossKind kind : {LossKind::kSoftmaxCrossEntropy, LossKind::kMse}) {
    if (text != LossKindName(kind)) continue;
    settings.loss = kind;
    return absl::OkStatus();
  }
  const std::string hint = HintForValue("--loss", text);
  return UsageError("--loss: expected softmax-cross-entropy, mse or graph:NAME, found '", Escaped(text), "'",
                    hint.empty() ? DidYouMean(text, {"softmax-cross-entropy", "mse"}) : hint);
}

absl::Status ParseLabels(const TrainOptions& o, StepSettings& settings) {
  settings.logits = o.logits;
  // "onehot" without a name, or a kind that is called otherwise here, would become the input's name.
  const std::string kind = o.labels.substr(o.labels.rfind(':') + 1);
  const bool is_kind = !HintForValue("--labels", kind).empty();
  const bool is_ours =
      kind != o.labels && (kind == LabelKindName(LabelKind::kSparse) || kind == LabelKindName(LabelKind::kOneHot));
  if (is_kind && !is_ours) {
    return UsageError("--labels: expected NAME[:sparse|onehot], found '", Escaped(o.labels), "'",
                      HintForValue("--labels", kind));
  }
  absl::string_view name = o.labels;
  for (const LabelKind kind : {LabelKind::kSparse, LabelKind::kOneHot}) {
    if (absl::ConsumeSuffix(&name, absl::StrCat(":", LabelKindName(kind)))) settings.label_kind = kind;
  }
  if (!name.empty()) settings.labels = std::string(name);
  if (name.empty() && !o.labels.empty() && !settings.label_kind) return UsageError("--labels: expected a name");
  if (settings.label_kind && settings.loss == LossKind::kMse) {
    return UsageError("--labels: sparse and onehot are about softmax-cross-entropy; with mse labels are targets");
  }
  return absl::OkStatus();
}

absl::Status ParseHead(const TrainOptions& o, StepSettings& settings) {
  constexpr absl::string_view kDense = ":dense=";
  constexpr int64_t kMostUnits = 1 << 24;
  if (o.head.empty()) {
    return o.seed ? UsageError("--seed is about the weights of --head, which is not asked for") : absl::OkStatus();
  }
  const size_t at = absl::string_view(o.head).rfind(kDense);
  HeadSettings head;
  const bool is_whole = at != std::string::npos && at > 0 &&
                        absl::SimpleAtoi(o.head.substr(at + kDense.size()), &head.units) && head.units > 0 &&
                        head.units <= kMostUnits;
  if (!is_whole) {
    return UsageError("--head: expected TENSOR:dense=N with N from 1 to ", kMostUnits, ", found '", Escaped(o.head),
                      "'");
  }
  if (o.seed.value_or(0) < 0) return UsageError("--seed: expected a whole number of at least 0, found ", *o.seed);
  if (!o.freeze.empty() && o.trainable.empty()) {
    return UsageError(
        "--freeze has no effect: with --head all but the head is frozen, unless --trainable says otherwise");
  }
  head.tensor = o.head.substr(0, at);
  head.seed = static_cast<uint64_t>(o.seed.value_or(0));
  settings.head = std::move(head);
  return absl::OkStatus();
}

// `usual`: where --loss-scale is not given.
absl::StatusOr<LossScaleSettings> MakeLossScaleSettings(const TrainOptions& options, LossScaling usual) {
  LossScaleSettings settings;
  settings.kind = usual;
  if (!options.loss_scale.empty()) AMP_RETURN_IF_ERROR(ParseLossScale(options.loss_scale, settings));
  settings.finite_check = options.finite_check.value_or(true);
  settings.count_skipped_steps = options.count_skipped_steps;
  AMP_RETURN_IF_ERROR(CheckScaleFlags(options, settings));
  if (options.loss_scale_function) settings.function = options.loss_scale_function->SerializeAsString();
  if (settings.kind == LossScaling::kDynamic) AMP_RETURN_IF_ERROR(TakeRule(options, settings));
  return settings;
}

// Without --train.
absl::Status CheckWrapFlags(const TrainOptions& train) {
  if (const std::vector<SetFlag> flags = StepFlags(train); !flags.empty()) {
    return UsageError(flags.front().flag, " is about --train, which is not asked for");
  }
  if (train.loss_scale.empty()) {
    const std::vector<SetFlag> flags = SetTrainFlags(train);
    return flags.empty() ? absl::OkStatus()
                         : UsageError(flags.front().flag, " is about --train or --loss-scale, which are not asked for");
  }
  if (train.loss_scale == "none") return UsageError("--loss-scale none has no effect without --train");
  if (train.count_skipped_steps) return UsageError("--count-skipped-steps is about --train, which is not asked for");
  return absl::OkStatus();
}

}  // namespace

std::vector<SetFlag> SetTrainFlags(const TrainOptions& options) {
  const auto is_other = [](const Flag<TrainOptions>& row) { return row.name != kTrainFlag; };
  std::vector<SetFlag> flags = SetFlags(TrainFlags(), options, is_other);
  if (options.loss_scale_function) flags.push_back({"loss_scale_function", options.loss_scale_function->name()});
  return flags;
}

absl::Status CheckTrainOptions(const RewriteOptions& options) {
  using Policy = RewriteOptions::Policy;
  const TrainOptions& train = options.train;
  if (!train.train) return CheckWrapFlags(train);
  if (!train.gradients.empty()) return UsageError("--gradient has no effect: --train makes the gradients itself");
  const char* const misfit = options.policy == Policy::kFloat16    ? "--policy float16"
                             : options.policy == Policy::kBfloat16 ? "--policy bfloat16"
                             : !options.keep_io.value_or(true)     ? "--keep-io"
                             : options.freeze_initializers         ? "--freeze-initializers"
                                                                   : nullptr;
  if (misfit != nullptr) {
    return UsageError(misfit, " and --train exclude each other: weights are inputs and outputs of a step, in float32");
  }
  if (options.functions != RewriteOptions::Functions::kInline) {
    return UsageError("--functions and --train exclude each other: functions are differentiated as their nodes");
  }
  using Verify = RewriteOptions::Verify;
  const bool may_verify = options.verify == Verify::kAuto || options.verify == Verify::kOff;
  if (!may_verify) return UsageError("--verify and --train exclude each other: a forward model and a step differ");
  return absl::OkStatus();
}

bool WrapsTrainingGraph(const TrainOptions& options) { return !options.train && !options.loss_scale.empty(); }

absl::StatusOr<WrapSettings> MakeWrapSettings(const TrainOptions& options) {
  WrapSettings settings;
  AMP_ASSIGN_OR_RETURN(settings.scale, MakeLossScaleSettings(options, LossScaling::kDynamic));
  settings.loss = options.loss;
  for (const std::string& pair : options.gradients) {
    const size_t at = pair.find('=');
    if (at == std::string::npos || at == 0 || at + 1 == pair.size()) {
      return UsageError("--gradient: expected WEIGHT=GRAD, found '", Escaped(pair), "'");
    }
    settings.gradients.emplace_back(pair.substr(0, at), pair.substr(at + 1));
  }
  return settings;
}

absl::StatusOr<StepSettings> MakeStepSettings(const TrainOptions& options, DType compute) {
  StepSettings settings;
  settings.compute = compute;
  AMP_RETURN_IF_ERROR(ParseLoss(options, settings));
  AMP_RETURN_IF_ERROR(ParseLabels(options, settings));
  AMP_RETURN_IF_ERROR(ParseHead(options, settings));
  AMP_ASSIGN_OR_RETURN(settings.optimizer, MakeOptimizerSettings(options));
  const LossScaling usual = compute == DType::kFloat16 ? LossScaling::kDynamic : LossScaling::kNone;
  AMP_ASSIGN_OR_RETURN(settings.scale, MakeLossScaleSettings(options, usual));
  settings.trainable = options.trainable;
  settings.freeze = options.freeze;
  settings.data_parallel = options.data_parallel;
  return settings;
}

}  // namespace amp
