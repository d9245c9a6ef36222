#include "ir/file/model_walk.h"

#include "ir/schema/opset_imports.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

using TensorVisit = absl::FunctionRef<void(const onnx::TensorProto&)>;
enum class Place { kInitializer, kElsewhere };
using Visit = absl::FunctionRef<void(const onnx::TensorProto&, Place)>;

void WalkGraph(const onnx::GraphProto& graph, Visit visit);

void WalkSparse(const onnx::SparseTensorProto& sparse, Visit visit) {
  if (sparse.has_values()) visit(sparse.values(), Place::kElsewhere);
  if (sparse.has_indices()) visit(sparse.indices(), Place::kElsewhere);
}

void WalkAttribute(const onnx::AttributeProto& attribute, Visit visit) {
  if (attribute.has_t()) visit(attribute.t(), Place::kElsewhere);
  for (const auto& tensor : attribute.tensors()) visit(tensor, Place::kElsewhere);
  if (attribute.has_sparse_tensor()) WalkSparse(attribute.sparse_tensor(), visit);
  for (const auto& sparse : attribute.sparse_tensors()) WalkSparse(sparse, visit);
  if (attribute.has_g()) WalkGraph(attribute.g(), visit);
  for (const auto& graph : attribute.graphs()) WalkGraph(graph, visit);
}

template <typename Nodes>
void WalkNodes(const Nodes& nodes, Visit visit) {
  for (const auto& node : nodes) {
    for (const auto& attribute : node.attribute()) WalkAttribute(attribute, visit);
  }
}

void WalkGraph(const onnx::GraphProto& graph, Visit visit) {
  for (const auto& tensor : graph.initializer()) visit(tensor, Place::kInitializer);
  for (const auto& sparse : graph.sparse_initializer()) WalkSparse(sparse, visit);
  WalkNodes(graph.node(), visit);
}

void WalkModel(const onnx::ModelProto& model, Visit visit) {
  if (model.has_graph()) WalkGraph(model.graph(), visit);
  for (const auto& function : model.functions()) {
    for (const auto& attribute : function.attribute_proto()) WalkAttribute(attribute, visit);
    WalkNodes(function.node(), visit);
  }
  for (const auto& training : model.training_info()) {
    if (training.has_initialization()) WalkGraph(training.initialization(), visit);
    if (training.has_algorithm()) WalkGraph(training.algorithm(), visit);
  }
}

}  // namespace

void ForEachTensor(const onnx::ModelProto& model, TensorVisit visit) {
  WalkModel(model, [&](const onnx::TensorProto& tensor, Place) { visit(tensor); });
}

void ForEachInitializer(const onnx::ModelProto& model, TensorVisit visit) {
  WalkModel(model, [&](const onnx::TensorProto& tensor, Place place) {
    if (place == Place::kInitializer) visit(tensor);
  });
}

void ForEachMutableTensor(onnx::ModelProto& model, absl::FunctionRef<void(onnx::TensorProto&)> visit) {
  // The message is the caller's to change; walking it as const keeps one walk.
  ForEachTensor(model, [&](const onnx::TensorProto& tensor) { visit(const_cast<onnx::TensorProto&>(tensor)); });
}

void ForEachBody(const onnx::NodeProto& node, absl::FunctionRef<void(const onnx::GraphProto&)> visit) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) visit(attribute.g());
    for (const auto& graph : attribute.graphs()) visit(graph);
  }
}

void ForEachMutableBody(onnx::NodeProto& node, absl::FunctionRef<void(onnx::GraphProto&)> visit) {
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) visit(*attribute.mutable_g());
    for (auto& graph : *attribute.mutable_graphs()) visit(graph);
  }
}

void ForEachRead(const onnx::NodeProto& node, absl::FunctionRef<void(const std::string&)> visit) {
  for (const std::string& name : node.input()) {
    if (!name.empty()) visit(name);
  }
  ForEachBody(node, [&](const onnx::GraphProto& graph) {
    for (const auto& inner : graph.node()) ForEachRead(inner, visit);
    for (const auto& output : graph.output()) visit(output.name());
  });
}

void ForEachDefinitionInBodies(const onnx::NodeProto& node, absl::FunctionRef<void(const std::string&)> visit) {
  ForEachBody(node, [&](const onnx::GraphProto& graph) {
    for (const auto& input : graph.input()) visit(input.name());
    for (const auto& tensor : graph.initializer()) visit(tensor.name());
    for (const auto& sparse : graph.sparse_initializer()) visit(sparse.values().name());
    for (const auto& inner : graph.node()) {
      for (const std::string& name : inner.output()) visit(name);
      ForEachDefinitionInBodies(inner, visit);
    }
  });
}

void ForEachMutableTensor(onnx::NodeProto& node, absl::FunctionRef<void(onnx::TensorProto&)> visit) {
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_t()) visit(*attribute.mutable_t());
    for (auto& tensor : *attribute.mutable_tensors()) visit(tensor);
  }
  ForEachMutableBody(node, [&](onnx::GraphProto& graph) {
    for (auto& tensor : *graph.mutable_initializer()) visit(tensor);
    for (auto& inner : *graph.mutable_node()) ForEachMutableTensor(inner, visit);
  });
}

void ForEachOperator(const onnx::ModelProto& model, OperatorVisitor visit) {
  const auto visit_node = [&](const onnx::NodeProto& node) { visit(CanonicalDomain(node.domain()), node.op_type()); };
  ForEachNodeWithin(model.graph().node(), visit_node);
  for (const auto& function : model.functions()) ForEachNodeWithin(function.node(), visit_node);
  for (const auto& training : model.training_info()) {
    ForEachNodeWithin(training.initialization().node(), visit_node);
    ForEachNodeWithin(training.algorithm().node(), visit_node);
  }
}

void ForEachFunction(const onnx::ModelProto& model, OperatorVisitor visit) {
  for (const auto& function : model.functions()) visit(CanonicalDomain(function.domain()), function.name());
}

bool HasNodeOfName(const onnx::ModelProto& model, absl::string_view name) {
  bool found = false;
  ForEachNodeWithin(model.graph().node(), [&](const onnx::NodeProto& node) { found = found || node.name() == name; });
  return found;
}

FunctionKey FunctionKeyOf(const onnx::FunctionProto& function) {
  return {CanonicalDomain(function.domain()), function.name(), function.overload()};
}

FunctionKey FunctionKeyOf(const onnx::NodeProto& call) {
  return {CanonicalDomain(call.domain()), call.op_type(), call.overload()};
}

}  // namespace amp
