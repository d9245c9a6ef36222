// Facts that a condition on a node can ask for: scalar attributes, with the schema's defaults, and facts read off
// shapes.
//
//   Resize without a mode       mode       "nearest"   (the schema's default)
//   ScatterND-11                reduction  "none"      (an attribute that came later: its default is the old behaviour)
//   Conv, group = C_in          depthwise  "1"
#ifndef AMP_IR_OPERATORS_NODE_FACTS_H_
#define AMP_IR_OPERATORS_NODE_FACTS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "ir/graph/graph.h"

namespace onnx {
class FunctionProto;
}

namespace amp {

// The keys that NodeFact can answer for an operator in any of its versions, sorted; none if the operator is unknown.
std::vector<std::string> ConditionFacts(absl::string_view domain, absl::string_view op_type);

// The fact as text: strings as they are, numbers in decimal. Nothing when the node has no such attribute, it has no
// default, it is not a scalar, or it refers to an attribute of the surrounding function.
std::optional<std::string> NodeFact(const Model& model, NodeId id, absl::string_view key);

// Returns all facts of a call of a model-local function: the attributes that the call passes, else the function's
// defaults.
absl::flat_hash_map<std::string, std::string> CallFacts(const onnx::NodeProto& call,
                                                        const onnx::FunctionProto& function);

}  // namespace amp

#endif  // AMP_IR_OPERATORS_NODE_FACTS_H_
