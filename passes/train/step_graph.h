// A step graph while it is made: its states, and calls of the functions that a step is made of.
//
//   AddState("w.rms", zeros)     an input "w.rms" with that default
//   SetNext(rms, next)           `next` becomes the output "w.rms.next"
//
// Calls, not operators: functions of domain ai.amp are barriers to the painting, so that everything they take and give
// stays float32, whatever the lists say.
#ifndef AMP_PASSES_TRAIN_STEP_GRAPH_H_
#define AMP_PASSES_TRAIN_STEP_GRAPH_H_

#include <string>
#include <vector>

#include "ir/functions/add_functions.h"
#include "ir/graph/append_nodes.h"
#include "ir/graph/graph.h"
#include "passes/train/step_metadata.h"

namespace amp {

class StepGraph {
 public:
  // `model` must outlive this. REQUIRES: it has IR version 8 or a newer one.
  explicit StepGraph(Model& model) : model_(model), append_(model, "step") {}

  Model& model() { return model_; }
  NodeAppender& append() { return append_; }

  // A new input with a default; `name` is made unique. `tensor`: on the model's arena, without a name.
  ValueId AddDefault(absl::string_view name, onnx::TensorProto* tensor);
  // Adds an input with a default whose next value the step computes; `name` is made unique.
  ValueId AddState(absl::string_view name, onnx::TensorProto* tensor, StateKind kind);
  // Makes an initializer of the model a state.
  void AdoptState(ValueId initializer, StateKind kind);
  // REQUIRES: `next` is no graph output. It has the state's type from now on.
  void SetNext(ValueId state, ValueId next);

  // Results have unknown types, but for those that are said to be `like` a value.
  std::vector<ValueId> Call(absl::string_view function, std::vector<ValueId> inputs, size_t num_outputs,
                            const NewAttributes& attributes = {});
  ValueId CallLike(ValueId like, absl::string_view function, std::vector<ValueId> inputs,
                   const NewAttributes& attributes = {});
  // Calls a function whose result is a scalar of this type.
  ValueId CallScalar(DType type, absl::string_view function, std::vector<ValueId> inputs,
                     const NewAttributes& attributes = {});
  void SetScalarType(ValueId value, DType type);

  // `condition ? next : old`; `next` where there is no condition (kNone).
  ValueId Choose(ValueId condition, ValueId next, ValueId old);
  // Both, or the one that is there; kNone for neither.
  ValueId Both(ValueId a, ValueId b);

  // Makes outputs of the next values, in the order in which the states were added, and lists those.
  // REQUIRES: each state has its next value.
  std::vector<StepState> Finish();

 private:
  struct State {
    ValueId value = kNone, next = kNone;
    StateKind kind = StateKind::kWeight;
  };

  Model& model_;
  NodeAppender append_;
  std::vector<State> states_;
  ValueId scalar_ = kNone;  // any, for its shape
};

// The functions that StepGraph calls by itself.
void AddStepFunctions(Model& model);

}  // namespace amp

#endif  // AMP_PASSES_TRAIN_STEP_GRAPH_H_
