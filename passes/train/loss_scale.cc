#include "passes/train/loss_scale.h"

#include "ir/base/status.h"
#include "ir/graph/constant.h"

namespace amp {
namespace {

constexpr absl::string_view kUnscale = R"(
<domain: "ai.amp", opset_import: ["" : 17]>
InvertScale (scale) => (inverse) { inverse = Reciprocal (scale) }

<domain: "ai.amp", opset_import: ["" : 17]>
ScaleGradient (gradient, factor) => (scaled) { scaled = Mul (gradient, factor) }
)";

constexpr absl::string_view kAllFinite = R"(
<domain: "ai.amp", opset_import: ["" : 17]>
AllFinite (gradient) => (finite) {
  infinite = IsInf (gradient)
  undefined = IsNaN (gradient)
  bad = Or (infinite, undefined)
  counts = Cast <to = 6> (bad)
  any = ReduceMax <keepdims = 0> (counts)
  some_bad = Cast <to = 9> (any)
  finite = Not (some_bad)
})";

constexpr absl::string_view kUpdate = R"(
<domain: "ai.amp", opset_import: ["" : 17]>
UpdateLossScale <interval, growth, backoff, floor, cap> (scale, good_steps, finite) => (next_scale, next_good_steps) {
  one = Constant <value_int = 1> ()
  count = Add (good_steps, one)
  wanted = Constant <value_int: int = @interval> ()
  early = Less (count, wanted)
  factor = Constant <value_float: float = @growth> ()
  grown = Mul (scale, factor)
  most = Constant <value_float: float = @cap> ()
  too_large = Greater (grown, most)
  stays = Or (early, too_large)
  scale_if_finite = Where (stays, scale, grown)
  zero = Constant <value_int = 0> ()
  count_if_finite = Where (early, count, zero)
  shrinking = Constant <value_float: float = @backoff> ()
  shrunk = Mul (scale, shrinking)
  least = Constant <value_float: float = @floor> ()
  scale_if_not = Max (shrunk, least)
  next_scale = Where (finite, scale_if_finite, scale_if_not)
  next_good_steps = Where (finite, count_if_finite, zero)
})";

std::vector<ValueId> CallOwnRule(StepGraph& step, const std::vector<ValueId>& inputs,
                                 const LossScaleSettings& settings) {
  AddFunction(step.model(), kUpdate);
  return step.Call("UpdateLossScale", inputs, 2,
                   {{"interval", settings.interval},
                    {"growth", static_cast<float>(settings.growth)},
                    {"backoff", static_cast<float>(settings.backoff)},
                    {"floor", static_cast<float>(settings.min)},
                    {"cap", static_cast<float>(settings.max)}});
}

absl::StatusOr<std::vector<ValueId>> CallCallersRule(StepGraph& step, const std::vector<ValueId>& inputs,
                                                     const std::string& function) {
  const absl::StatusOr<FunctionPorts> ports = AddCallersFunction(step.model(), function);
  if (!ports.ok()) return UsageError("the loss scale's function: ", ports.status().message());
  if (ports->domain == kOwnDomain) {
    return UsageError("the loss scale's function: expected another domain than ", kOwnDomain,
                      ", whose functions are this program's own");
  }
  if (ports->num_inputs != 3 || ports->num_outputs != 2) {
    return UsageError("the loss scale's function: expected (scale, good_steps, finite) -> (scale, good_steps), found ",
                      ports->num_inputs, " inputs and ", ports->num_outputs, " outputs");
  }
  return step.append().AddMany(ports->domain, ports->name, inputs, 2);
}

}  // namespace

LossScale AddLossScale(StepGraph& step, const LossScaleSettings& settings) {
  LossScale made;
  if (settings.kind == LossScaling::kNone) return made;
  Model& model = step.model();
  const auto initial = static_cast<float>(settings.initial);
  if (settings.kind == LossScaling::kFixed) {
    made.scale = model.AddInitializer(kMainGraph, model.UniqueName(kScaleName), MakeScalar(model, initial));
    return made;
  }
  made.scale = step.AddState(kScaleName, MakeScalar(model, initial), StateKind::kScale);
  made.good_steps = step.AddState(kGoodStepsName, MakeScalar(model, int64_t{0}), StateKind::kCounter);
  return made;
}

void Unscale(StepGraph& step, const LossScale& scale, std::vector<ValueId>& gradients) {
  if (scale.scale == kNone) return;
  AddFunction(step.model(), kUnscale);
  const ValueId inverse = step.CallScalar(DType::kFloat32, "InvertScale", {scale.scale});
  for (ValueId& gradient : gradients) gradient = step.CallLike(gradient, "ScaleGradient", {gradient, inverse});
}

ValueId AddFiniteCheck(StepGraph& step, const std::vector<ValueId>& gradients) {
  AddFunction(step.model(), kAllFinite);
  ValueId all = kNone;
  for (const ValueId gradient : gradients) {
    all = step.Both(all, step.CallScalar(DType::kBool, "AllFinite", {gradient}));
  }
  return all != kNone ? all : step.append().Bool(true);
}

absl::Status UpdateLossScale(StepGraph& step, const LossScale& scale, const LossScaleSettings& settings,
                             ValueId finite) {
  if (scale.good_steps == kNone) return absl::OkStatus();
  const std::vector<ValueId> inputs = {scale.scale, scale.good_steps, finite};
  std::vector<ValueId> next;
  if (settings.function.empty()) {
    next = CallOwnRule(step, inputs, settings);
  } else {
    AMP_ASSIGN_OR_RETURN(next, CallCallersRule(step, inputs, settings.function));
  }
  step.SetNext(scale.scale, next[0]);
  step.SetNext(scale.good_steps, next[1]);
  return absl::OkStatus();
}

}  // namespace amp
