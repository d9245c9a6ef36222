// Types of what calls of this program's own functions (domain ai.amp) give, by ONNX's inference through their bodies.
//
// They stay calls, and what they give has to be known where it is painted. Calls of others' functions are inlined, or
// stay barriers whose results have the types that the file states.
#ifndef AMP_IR_GRAPH_INFER_CALL_H_
#define AMP_IR_GRAPH_INFER_CALL_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "ir/graph/graph.h"

namespace onnx {
class FunctionProto;
struct InferenceContext;
}  // namespace onnx

namespace amp {

class CallInference {
 public:
  // The model must outlive this and keep its functions.
  explicit CallInference(const Model& model);

  // Whether the node calls one of them. Only bodies of plain nodes of ai.onnx count, without graphs and equations:
  // nothing that ONNX's inference could not be trusted with, since a file may bring along functions of that domain.
  bool Knows(NodeId node) const { return FunctionOf(node) != nullptr; }
  // REQUIRES: Knows(node). Throws what ONNX's inference throws.
  void Infer(NodeId node, onnx::InferenceContext& context) const;

 private:
  const onnx::FunctionProto* FunctionOf(NodeId node) const;

  const Model& model_;
  absl::flat_hash_map<std::string, const onnx::FunctionProto*> functions_;  // by name
};

}  // namespace amp

#endif  // AMP_IR_GRAPH_INFER_CALL_H_
