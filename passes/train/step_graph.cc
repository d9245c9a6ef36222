#include "passes/train/step_graph.h"

#include <algorithm>
#include <utility>

#include "ir/base/check.h"
#include "ir/graph/constant.h"
#include "ir/graph/graph_ports.h"

namespace amp {
namespace {

constexpr absl::string_view kFunctions = R"(
<domain: "ai.amp", opset_import: ["" : 17]>
Choose (condition, next, old) => (chosen) { chosen = Where (condition, next, old) }

<domain: "ai.amp", opset_import: ["" : 17]>
Both (a, b) => (both) { both = And (a, b) }
)";

}  // namespace

void AddStepFunctions(Model& model) { AddFunction(model, kFunctions); }

ValueId StepGraph::AddDefault(absl::string_view name, onnx::TensorProto* tensor) {
  const ValueId value = model_.AddInitializer(kMainGraph, model_.UniqueName(name), tensor);
  MakeOverridable(model_, value);
  return value;
}

ValueId StepGraph::AddState(absl::string_view name, onnx::TensorProto* tensor, StateKind kind) {
  const ValueId value = AddDefault(name, tensor);
  states_.push_back({value, kNone, kind});
  return value;
}

void StepGraph::AdoptState(ValueId initializer, StateKind kind) {
  MakeOverridable(model_, initializer);
  states_.push_back({initializer, kNone, kind});
}

void StepGraph::SetNext(ValueId state, ValueId next) {
  const auto found = std::find_if(states_.begin(), states_.end(), [&](const State& s) { return s.value == state; });
  AMP_CHECK(found != states_.end() && found->next == kNone && !model_.IsGraphOutput(next));
  found->next = next;
  model_.CopyType(state, next);
  model_.Rename(next, model_.UniqueName(NextName(model_.value(state).name)));
}

std::vector<ValueId> StepGraph::Call(absl::string_view function, std::vector<ValueId> inputs, size_t num_outputs,
                                     const NewAttributes& attributes) {
  return append_.AddMany(kOwnDomain, function, std::move(inputs), num_outputs, attributes);
}

ValueId StepGraph::CallLike(ValueId like, absl::string_view function, std::vector<ValueId> inputs,
                            const NewAttributes& attributes) {
  const ValueId result = Call(function, std::move(inputs), 1, attributes).front();
  model_.CopyType(like, result);
  return result;
}

void StepGraph::SetScalarType(ValueId value, DType type) {
  if (scalar_ == kNone) scalar_ = append_.Scalar(1, DType::kFloat32);
  model_.CopyType(scalar_, value);
  model_.SetTensorType(value, type);
}

ValueId StepGraph::CallScalar(DType type, absl::string_view function, std::vector<ValueId> inputs,
                              const NewAttributes& attributes) {
  const ValueId result = Call(function, std::move(inputs), 1, attributes).front();
  SetScalarType(result, type);
  return result;
}

ValueId StepGraph::Choose(ValueId condition, ValueId next, ValueId old) {
  return condition == kNone ? next : CallLike(old, "Choose", {condition, next, old});
}

ValueId StepGraph::Both(ValueId a, ValueId b) {
  if (a == kNone) return b;
  return b == kNone ? a : CallScalar(DType::kBool, "Both", {a, b});
}

std::vector<StepState> StepGraph::Finish() {
  std::vector<StepState> listed;
  for (const State& state : states_) {
    AMP_CHECK(state.next != kNone);
    AddGraphOutput(model_, state.next);
    listed.push_back({model_.value(state.value).name, model_.value(state.next).name, state.kind});
  }
  return listed;
}

}  // namespace amp
