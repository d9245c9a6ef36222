// Visits every tensor or body of a model, in all the places where ONNX can put one: initializers, sparse initializers,
// attributes, bodies of control flow, model-local functions, training information. Order of the message; bodies come
// right after their node. Depth of recursion is bounded by the nesting limit of the loader.
#ifndef AMP_IR_FILE_MODEL_WALK_H_
#define AMP_IR_FILE_MODEL_WALK_H_

#include <string>
#include <tuple>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace onnx {
class FunctionProto;
class GraphProto;
class ModelProto;
class NodeProto;
class TensorProto;
}  // namespace onnx

namespace amp {

void ForEachTensor(const onnx::ModelProto& model, absl::FunctionRef<void(const onnx::TensorProto&)> visit);
void ForEachMutableTensor(onnx::ModelProto& model, absl::FunctionRef<void(onnx::TensorProto&)> visit);
// Dense initializers only, of all graphs: the tensors that every runtime accepts as external data.
void ForEachInitializer(const onnx::ModelProto& model, absl::FunctionRef<void(const onnx::TensorProto&)> visit);

// The graphs among a node's attributes; not what they hold.
void ForEachBody(const onnx::NodeProto& node, absl::FunctionRef<void(const onnx::GraphProto&)> visit);
void ForEachMutableBody(onnx::NodeProto& node, absl::FunctionRef<void(onnx::GraphProto&)> visit);
// The names of all values that a node reads, in its bodies too; what bodies define themselves is among them.
void ForEachRead(const onnx::NodeProto& node, absl::FunctionRef<void(const std::string&)> visit);
// The names of all values that a node's bodies define, however nested; not its own outputs.
void ForEachDefinitionInBodies(const onnx::NodeProto& node, absl::FunctionRef<void(const std::string&)> visit);
// The dense tensors among a node's attributes and in its bodies.
void ForEachMutableTensor(onnx::NodeProto& node, absl::FunctionRef<void(onnx::TensorProto&)> visit);

// Visits the nodes of a list and of all graphs within them, owners first.
template <typename Nodes, typename Visit>
void ForEachNodeWithin(const Nodes& nodes, const Visit& visit) {
  for (const auto& node : nodes) {
    visit(node);
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) ForEachNodeWithin(attribute.g().node(), visit);
      for (const auto& graph : attribute.graphs()) ForEachNodeWithin(graph.node(), visit);
    }
  }
}

// Domain ("" for ai.onnx) and operator of every node of the graphs, their bodies and the functions, calls included; and
// domain and name of every model-local function.
using OperatorVisitor = absl::FunctionRef<void(absl::string_view domain, absl::string_view op)>;
void ForEachOperator(const onnx::ModelProto& model, OperatorVisitor visit);
void ForEachFunction(const onnx::ModelProto& model, OperatorVisitor visit);
// Whether a node of the main graph or of a body in it has the name.
bool HasNodeOfName(const onnx::ModelProto& model, absl::string_view name);

// The key of a model-local function: domain, name and overload; and the key of the one that a node would call. Valid as
// long as the message.
using FunctionKey = std::tuple<absl::string_view, absl::string_view, absl::string_view>;
FunctionKey FunctionKeyOf(const onnx::FunctionProto& function);
FunctionKey FunctionKeyOf(const onnx::NodeProto& call);

}  // namespace amp

#endif  // AMP_IR_FILE_MODEL_WALK_H_
