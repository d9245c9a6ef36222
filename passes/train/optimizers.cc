#include "passes/train/optimizers.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "ir/base/check.h"
#include "ir/graph/constant.h"
#include "ir/graph/shape.h"

namespace amp {
namespace {

using Names = std::vector<absl::string_view>;

// A function for one weight: weight, gradient, slots and rates in; weight and slots out.
struct Update {
  absl::string_view function;
  Names attributes, slots, rates;
  absl::string_view body;  // gives new_weight, new_rms and so on
};

const Update& SgdUpdate() {
  static const auto* const update = new Update{"Sgd", {}, {}, {"rate"}, R"(
    step = Mul (gradient, rate)
    new_weight = Sub (weight, step)
)"};
  return *update;
}

const Update& MomentumUpdate() {
  static const auto* const update = new Update{"Momentum", {"momentum"}, {"velocity"}, {"rate"}, R"(
    factor = Constant <value_float: float = @momentum> ()
    kept = Mul (velocity, factor)
    step = Mul (gradient, rate)
    new_velocity = Sub (kept, step)
    new_weight = Add (weight, new_velocity)
)"};
  return *update;
}

const Update& NesterovUpdate() {
  static const auto* const update = new Update{"NesterovMomentum", {"momentum"}, {"velocity"}, {"rate"}, R"(
    factor = Constant <value_float: float = @momentum> ()
    kept = Mul (velocity, factor)
    step = Mul (gradient, rate)
    new_velocity = Sub (kept, step)
    ahead = Mul (new_velocity, factor)
    move = Sub (ahead, step)
    new_weight = Add (weight, move)
)"};
  return *update;
}

const Update& RmspropUpdate() {
  static const auto* const update = new Update{"Rmsprop", {"rho", "epsilon"}, {"rms"}, {"rate"}, R"(
    keep = Constant <value_float: float = @rho> ()
    one = Constant <value_float = 1.0> ()
    take = Sub (one, keep)
    square = Mul (gradient, gradient)
    kept = Mul (rms, keep)
    taken = Mul (square, take)
    new_rms = Add (kept, taken)
    least = Constant <value_float: float = @epsilon> ()
    shifted = Add (new_rms, least)
    root = Sqrt (shifted)
    scaled = Mul (gradient, rate)
    step = Div (scaled, root)
    new_weight = Sub (weight, step)
)"};
  return *update;
}

// `rate` is AdamRate's.
constexpr absl::string_view kAdamBody = R"(
    one = Constant <value_float = 1.0> ()
    keep1 = Constant <value_float: float = @beta1> ()
    take1 = Sub (one, keep1)
    change1 = Sub (gradient, moment1)
    taken1 = Mul (change1, take1)
    new_moment1 = Add (moment1, taken1)
    keep2 = Constant <value_float: float = @beta2> ()
    take2 = Sub (one, keep2)
    square = Mul (gradient, gradient)
    change2 = Sub (square, moment2)
    taken2 = Mul (change2, take2)
    new_moment2 = Add (moment2, taken2)
    root = Sqrt (new_moment2)
    least = Constant <value_float: float = @epsilon> ()
    shifted = Add (root, least)
    scaled = Mul (new_moment1, rate)
    step = Div (scaled, shifted)
)";

const Update& AdamUpdate() {
  static const auto* const body = new std::string(absl::StrCat(kAdamBody, "    new_weight = Sub (weight, step)\n"));
  static const auto* const update =
      new Update{"Adam", {"beta1", "beta2", "epsilon"}, {"moment1", "moment2"}, {"rate"}, *body};
  return *update;
}

const Update& AdamWUpdate() {
  static const auto* const body = new std::string(absl::StrCat(kAdamBody, R"(
    decay = Constant <value_float: float = @weight_decay> ()
    decay_rate = Mul (learning_rate, decay)
    decayed = Mul (weight, decay_rate)
    kept_weight = Sub (weight, decayed)
    new_weight = Sub (kept_weight, step)
)"));
  static const auto* const update = new Update{
      "AdamW", {"beta1", "beta2", "epsilon", "weight_decay"}, {"moment1", "moment2"}, {"rate", "learning_rate"}, *body};
  return *update;
}

// In float64: 1 - beta2^t is a difference of numbers that are nearly the same.
constexpr absl::string_view kAdamRate = R"(
<domain: "ai.amp", opset_import: ["" : 17]>
AdamRate <beta1, beta2> (learning_rate, updates) => (rate) {
    one = Constant <value_int = 1> ()
    count = Add (updates, one)
    exponent = Cast <to = 11> (count)
    unit = Cast <to = 11> (one)
    first = Constant <value_float: float = @beta1> ()
    wide_first = Cast <to = 11> (first)
    power1 = Pow (wide_first, exponent)
    second = Constant <value_float: float = @beta2> ()
    wide_second = Cast <to = 11> (second)
    power2 = Pow (wide_second, exponent)
    rest1 = Sub (unit, power1)
    rest2 = Sub (unit, power2)
    root = Sqrt (rest2)
    correction = Div (root, rest1)
    wide_rate = Cast <to = 11> (learning_rate)
    product = Mul (wide_rate, correction)
    rate = Cast <to = 1> (product)
})";

const Update& UpdateOf(const OptimizerSettings& settings) {
  switch (settings.kind) {
    case Optimizer::kSgd:
      return SgdUpdate();
    case Optimizer::kMomentum:
      return settings.nesterov ? NesterovUpdate() : MomentumUpdate();
    case Optimizer::kRmsprop:
      return RmspropUpdate();
    case Optimizer::kAdam:
      return AdamUpdate();
    case Optimizer::kAdamw:
      return AdamWUpdate();
  }
  return SgdUpdate();  // not reached
}

bool CorrectsBias(Optimizer kind) { return kind == Optimizer::kAdam || kind == Optimizer::kAdamw; }

std::string FunctionName(const Update& update, bool is_conditional) {
  return absl::StrCat(is_conditional ? "Conditional" : "", update.function);
}

std::string FunctionText(const Update& update, bool is_conditional) {
  Names states = {"weight"};
  states.insert(states.end(), update.slots.begin(), update.slots.end());
  Names inputs = {"weight", "gradient"};
  if (is_conditional) inputs.insert(inputs.begin(), "apply");
  inputs.insert(inputs.end(), update.slots.begin(), update.slots.end());
  inputs.insert(inputs.end(), update.rates.begin(), update.rates.end());
  std::string choices;
  for (const absl::string_view state : states) {
    if (is_conditional) absl::StrAppend(&choices, "next_", state, " = Where (apply, new_", state, ", ", state, ")\n");
  }
  const std::string body =
      is_conditional ? std::string(update.body) : absl::StrReplaceAll(update.body, {{"new_", "next_"}});
  const std::string attributes =
      update.attributes.empty() ? "" : absl::StrCat("<", absl::StrJoin(update.attributes, ", "), "> ");
  return absl::StrCat("<domain: \"ai.amp\", opset_import: [\"\" : 17]>\n", FunctionName(update, is_conditional), " ",
                      attributes, "(", absl::StrJoin(inputs, ", "), ") => (next_", absl::StrJoin(states, ", next_"),
                      ") {", body, choices, "}\n");
}

float Constant(const OptimizerSettings& settings, absl::string_view name) {
  const std::pair<absl::string_view, double> constants[] = {
      {"momentum", settings.momentum}, {"rho", settings.rho},         {"beta1", settings.beta1},
      {"beta2", settings.beta2},       {"epsilon", settings.epsilon}, {"weight_decay", settings.weight_decay}};
  for (const auto& [known, value] : constants) {
    if (known == name) return static_cast<float>(value);
  }
  AMP_CHECK(false);
  return 0;
}

NewAttributes Constants(const OptimizerSettings& settings, const Names& names) {
  NewAttributes attributes;
  for (const absl::string_view name : names) attributes.emplace_back(name, Constant(settings, name));
  return attributes;
}

ValueId AddSlot(StepGraph& step, ValueId weight, absl::string_view slot) {
  Model& model = step.model();
  const std::string name = absl::StrCat(model.value(weight).name, ".", slot);
  return step.AddState(name, MakeZeros(model, *ShapeOf(model, weight)), StateKind::kSlot);
}

}  // namespace

absl::string_view OptimizerName(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::kSgd:
      return "sgd";
    case Optimizer::kMomentum:
      return "momentum";
    case Optimizer::kRmsprop:
      return "rmsprop";
    case Optimizer::kAdam:
      return "adam";
    case Optimizer::kAdamw:
      return "adamw";
  }
  return "";
}

void AddUpdates(StepGraph& step, const OptimizerSettings& settings, const OptimizerInputs& inputs,
                const std::vector<WeightGradient>& weights) {
  const Update& update = UpdateOf(settings);
  const bool is_conditional = inputs.apply != kNone;
  AddFunction(step.model(), FunctionText(update, is_conditional));
  ValueId rate = inputs.learning_rate;
  if (CorrectsBias(settings.kind)) {
    AddFunction(step.model(), kAdamRate);
    rate = step.CallScalar(DType::kFloat32, "AdamRate", {inputs.learning_rate, inputs.updates},
                           Constants(settings, {"beta1", "beta2"}));
  }
  const std::string function = FunctionName(update, is_conditional);
  for (const auto& [weight, gradient] : weights) {
    std::vector<ValueId> states = {weight};
    for (const absl::string_view slot : update.slots) states.push_back(AddSlot(step, weight, slot));
    std::vector<ValueId> arguments = {weight, gradient};
    if (is_conditional) arguments.insert(arguments.begin(), inputs.apply);
    arguments.insert(arguments.end(), states.begin() + 1, states.end());
    arguments.push_back(rate);
    if (update.rates.size() > 1) arguments.push_back(inputs.learning_rate);
    const std::vector<ValueId> next =
        step.Call(function, std::move(arguments), states.size(), Constants(settings, update.attributes));
    for (size_t i = 0; i < states.size(); ++i) step.SetNext(states[i], next[i]);
  }
}

}  // namespace amp
