// Lifting a model to a newer ai.onnx operator set, node by node, in the main graph and in every body.
//
//   opset 12:  y = Squeeze <axes = [0]> (x)        opset 13:  y = Squeeze (x, y_axes)      initializer y_axes = {0}
//   opset 12:  y = Softmax <axis = 1> (x)          opset 13:  f = Flatten <axis = 1> (x)   s = Softmax <axis = -1> (f)
//                                                             d = Shape (x)                y = Reshape (s, d)
//
// A model goes up one version at a time. Where ONNX's two schemas of an operator differ in nothing but a wider choice
// of types, the step is free; every other step is a row of the table in ir/opset/opset_steps.cc, and an operator
// without a row keeps the whole model where it is. Values, names and order of the model's inputs and outputs stay as
// they are, and so does every result, bit for bit, as far as ONNX defines it.
#ifndef AMP_IR_OPSET_OPSET_ADAPTERS_H_
#define AMP_IR_OPSET_OPSET_ADAPTERS_H_

#include <string>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "ir/base/reason.h"
#include "ir/graph/graph.h"

namespace amp {

// The newest version of ai.onnx whose changes the table has been checked against.
int NewestAdaptedOpset();

struct OpsetReach {
  int opset = 0;
  Reason blocking = Reason::None();
};

// The highest version <= `target` that every ai.onnx node can be lifted to; the model's own opset when none is higher.
// `blocking`, where it is below `target`: which node stands in the way, at which step, and why.
// REQUIRES: InferTypes(model) has run: some steps need to know an element type. Edits nothing.
// Model-local functions keep their own imports, and ONNX forbids a model whose functions use another version of an
// operator than the model: they stop the lift at the first version that changes an operator they use.
OpsetReach ReachableOpset(const Model& model, int target);

// Lifts to `target` and raises the IR version to what that opset needs. Does nothing when the model is there already.
// New values have unknown types: run InferTypes again. Error: kPermissionDenied, nothing edited, when `target` is above
// ReachableOpset. REQUIRES: InferTypes(model) has run. Linear in the nodes.
absl::Status LiftOpset(Model& model, int target);

// A model that imports no ai.onnx has no node of it to lift, and may import any version, for what is inserted. Not so
// where functions may import one of their own, and before IR version 3, when there were no imports.
bool MayImportOnnx(const Model& model);
// REQUIRES: MayImportOnnx(model). Raises the IR version to what the opset needs.
void ImportOnnx(Model& model, int opset);

// From which opset on nodes take the low type where they have float32 now. Schemas decide: Conv takes bfloat16 from 22
// on, MatMul from 13 on. Not thread-safe.
class OpsetsThatOpen {
 public:
  // `model` must outlive this. Opsets above `limit` are not looked at.
  OpsetsThatOpen(const Model& model, DType low, int limit) : model_(model), low_(low), limit_(limit) {}

  // The lowest opset at which all float32 inputs and outputs of the node that open at all take the low type; 0 when
  // none opens: they take it already, or never do. REQUIRES: InferTypes has run.
  int For(NodeId node);

 private:
  enum class Port { kInput, kOutput };
  int OfPort(const OpSchema& schema, Port kind, size_t port);

  const Model& model_;
  DType low_;
  int limit_;
  absl::flat_hash_map<std::tuple<const OpSchema*, Port, size_t>, int> known_;
};

// For a file that imports ai.onnx twice because its nodes are of two opsets: the model's, and `also_imported`. Lifts
// the nodes of the model's opset to the other one, or to the first one that defines all operators. Operators that
// ai.onnx has never had move to the first imported domain that is not ONNX's. Returns whether it did so; warnings of
// the model say what was changed, or which adapter is missing. REQUIRES: InferTypes(model) has run.
bool UnifyOpset(Model& model, int also_imported);

}  // namespace amp

#endif  // AMP_IR_OPSET_OPSET_ADAPTERS_H_
