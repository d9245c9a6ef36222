// Element types of values against what operators allow.
#ifndef AMP_IR_GRAPH_CHECK_TYPES_H_
#define AMP_IR_GRAPH_CHECK_TYPES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ir/graph/graph.h"

namespace amp {

// A port whose type its operator does not allow, or that differs from the other ports of its type variable, or from
// the port of a body that it stands for.
struct TypeFault {
  NodeId node = kNone;
  std::string place;  // "input 1"
  std::string expected;
  DType found = DType::kUndefined;
};
// "node 'e' (Equal) input 0: expected a type that its schema allows, found float32"
std::string Describe(const Model& model, const TypeFault& fault);
// One sentence that counts the nodes and has the first fault; empty for none.
std::string Describe(const Model& model, const std::vector<TypeFault>& faults);

// Returns the type faults of every node of every graph, in order. REQUIRES: types are inferred. Runtimes load some
// models with such faults: ONNX Runtime does not look at the types of outputs, others not at any.
std::vector<TypeFault> FindTypeFaults(const Model& model);

// Returns the faults after a lift of the opset that `faults` have become: those of the same nodes, and of nodes from
// `first_made` on, which the lift made. They may look different, or be gone.
std::vector<TypeFault> FindSameFaults(const Model& model, const std::vector<TypeFault>& faults, NodeId first_made);

// kInternal, naming the node, unless every fault is one of `known`. The last line of defence before a rewritten model
// is saved: what was there before is no reason to refuse, what is new is our mistake.
absl::Status CheckTypes(const Model& model, const std::vector<TypeFault>& known = {});

}  // namespace amp

#endif  // AMP_IR_GRAPH_CHECK_TYPES_H_
