#include "passes/train/combine_gradients.h"

#include "absl/strings/str_cat.h"
#include "ir/graph/constant.h"
#include "ir/graph/shape.h"

namespace amp {
namespace {

constexpr absl::string_view kAccumulate = R"(
<domain: "ai.amp", opset_import: ["" : 17]>
CountAccumulated <steps> (accumulated_steps) => (next_accumulated_steps, due) {
  one = Constant <value_int = 1> ()
  count = Add (accumulated_steps, one)
  wanted = Constant <value_int: int = @steps> ()
  early = Less (count, wanted)
  due = Not (early)
  zero = Constant <value_int = 0> ()
  next_accumulated_steps = Where (due, zero, count)
}

<domain: "ai.amp", opset_import: ["" : 17]>
Accumulate <steps> (gradient, accumulated) => (sum) {
  count = Constant <value_float: float = @steps> ()
  share = Div (gradient, count)
  sum = Add (accumulated, share)
}

<domain: "ai.amp", opset_import: ["" : 17]>
StartAnew (due, sum) => (next) {
  zero = Constant <value_float = 0.0> ()
  next = Where (due, zero, sum)
}
)";

// `safe`: the largest magnitude, or a tiny number, so that nothing is divided by 0.
constexpr absl::string_view kClip = R"(
<domain: "ai.amp", opset_import: ["" : 17]>
LargestMagnitude (gradient) => (largest) {
  magnitudes = Abs (gradient)
  largest = ReduceMax <keepdims = 0> (magnitudes)
}

<domain: "ai.amp", opset_import: ["" : 17]>
Larger (a, b) => (larger) { larger = Max (a, b) }

<domain: "ai.amp", opset_import: ["" : 17]>
SumOfSquares (gradient, safe) => (sum) {
  shares = Div (gradient, safe)
  squares = Mul (shares, shares)
  sum = ReduceSum <keepdims = 0> (squares)
}

<domain: "ai.amp", opset_import: ["" : 17]>
Sum (a, b) => (sum) { sum = Add (a, b) }

<domain: "ai.amp", opset_import: ["" : 17]>
ClipFactor <norm> (sum, safe) => (factor) {
  bound = Constant <value_float: float = @norm> ()
  share = Div (bound, safe)
  root = Sqrt (sum)
  wanted = Div (share, root)
  one = Constant <value_float = 1.0> ()
  factor = Min (wanted, one)
}

<domain: "ai.amp", opset_import: ["" : 17]>
ScaleGradient (gradient, factor) => (scaled) { scaled = Mul (gradient, factor) }
)";

constexpr double kTiny = 1e-30;

}  // namespace

ValueId AccumulateGradients(StepGraph& step, const std::vector<ValueId>& weights, int64_t steps, ValueId finite,
                            std::vector<ValueId>& gradients) {
  Model& model = step.model();
  AddFunction(model, kAccumulate);
  const ValueId counter = step.AddState("amp.accumulated_steps", MakeScalar(model, int64_t{0}), StateKind::kCounter);
  const std::vector<ValueId> counted = step.Call("CountAccumulated", {counter}, 2, {{"steps", steps}});
  step.SetScalarType(counted[0], DType::kInt64);
  step.SetScalarType(counted[1], DType::kBool);
  const ValueId due = counted[1];
  step.SetNext(counter, step.Choose(finite, counted[0], counter));
  for (size_t i = 0; i < gradients.size(); ++i) {
    const std::string name = absl::StrCat(model.value(weights[i]).name, ".accumulated");
    const ValueId slot = step.AddState(name, MakeZeros(model, *ShapeOf(model, weights[i])), StateKind::kSlot);
    gradients[i] = step.CallLike(slot, "Accumulate", {gradients[i], slot}, {{"steps", static_cast<float>(steps)}});
    step.SetNext(slot, step.Choose(finite, step.CallLike(slot, "StartAnew", {due, gradients[i]}), slot));
  }
  return due;
}

void ClipGradients(StepGraph& step, double norm, std::vector<ValueId>& gradients) {
  AddFunction(step.model(), kClip);
  const auto number = [&](absl::string_view function, std::vector<ValueId> inputs) {
    return step.CallScalar(DType::kFloat32, function, std::move(inputs));
  };
  ValueId safe = step.append().Scalar(kTiny, DType::kFloat32);
  for (const ValueId gradient : gradients) safe = number("Larger", {safe, number("LargestMagnitude", {gradient})});
  ValueId sum = step.append().Scalar(0, DType::kFloat32);
  for (const ValueId gradient : gradients) sum = number("Sum", {sum, number("SumOfSquares", {gradient, safe})});
  const ValueId factor =
      step.CallScalar(DType::kFloat32, "ClipFactor", {sum, safe}, {{"norm", static_cast<float>(norm)}});
  for (ValueId& gradient : gradients) gradient = step.CallLike(gradient, "ScaleGradient", {gradient, factor});
}

}  // namespace amp
