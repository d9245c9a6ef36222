#include "ir/file/model_walk.h"

#include <type_traits>

#include "ir/schema/opset_imports.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

using onnx::AttributeProto;
using onnx::FunctionProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::SparseTensorProto;
using onnx::TensorProto;
using onnx::TrainingInfoProto;

enum class Place { kInitializer, kElsewhere };

// The field of a message: it can be changed if the message can. So one walk serves both.
template <typename Message, typename Class, typename Get, typename GetMutable>
auto& In(Message& message, Get (Class::*get)() const, GetMutable (Class::*get_mutable)()) {
  if constexpr (std::is_const_v<Message>) {
    return (message.*get)();
  } else {
    return *(message.*get_mutable)();
  }
}

template <typename Graph, typename Visit>
void WalkGraph(Graph& graph, const Visit& visit);

template <typename Sparse, typename Visit>
void WalkSparse(Sparse& sparse, const Visit& visit) {
  if (sparse.has_values()) {
    visit(In(sparse, &SparseTensorProto::values, &SparseTensorProto::mutable_values), Place::kElsewhere);
  }
  if (sparse.has_indices()) {
    visit(In(sparse, &SparseTensorProto::indices, &SparseTensorProto::mutable_indices), Place::kElsewhere);
  }
}

template <typename Attribute, typename Visit>
void WalkAttribute(Attribute& attribute, const Visit& visit) {
  if (attribute.has_t()) visit(In(attribute, &AttributeProto::t, &AttributeProto::mutable_t), Place::kElsewhere);
  for (auto& tensor : In(attribute, &AttributeProto::tensors, &AttributeProto::mutable_tensors)) {
    visit(tensor, Place::kElsewhere);
  }
  if (attribute.has_sparse_tensor()) {
    WalkSparse(In(attribute, &AttributeProto::sparse_tensor, &AttributeProto::mutable_sparse_tensor), visit);
  }
  for (auto& sparse : In(attribute, &AttributeProto::sparse_tensors, &AttributeProto::mutable_sparse_tensors)) {
    WalkSparse(sparse, visit);
  }
  if (attribute.has_g()) WalkGraph(In(attribute, &AttributeProto::g, &AttributeProto::mutable_g), visit);
  for (auto& graph : In(attribute, &AttributeProto::graphs, &AttributeProto::mutable_graphs)) WalkGraph(graph, visit);
}

template <typename Nodes, typename Visit>
void WalkNodes(Nodes& nodes, const Visit& visit) {
  for (auto& node : nodes) {
    for (auto& attribute : In(node, &NodeProto::attribute, &NodeProto::mutable_attribute)) {
      WalkAttribute(attribute, visit);
    }
  }
}

template <typename Graph, typename Visit>
void WalkGraph(Graph& graph, const Visit& visit) {
  for (auto& tensor : In(graph, &GraphProto::initializer, &GraphProto::mutable_initializer)) {
    visit(tensor, Place::kInitializer);
  }
  for (auto& sparse : In(graph, &GraphProto::sparse_initializer, &GraphProto::mutable_sparse_initializer)) {
    WalkSparse(sparse, visit);
  }
  WalkNodes(In(graph, &GraphProto::node, &GraphProto::mutable_node), visit);
}

template <typename Model, typename Visit>
void WalkModel(Model& model, const Visit& visit) {
  if (model.has_graph()) WalkGraph(In(model, &ModelProto::graph, &ModelProto::mutable_graph), visit);
  for (auto& function : In(model, &ModelProto::functions, &ModelProto::mutable_functions)) {
    for (auto& attribute : In(function, &FunctionProto::attribute_proto, &FunctionProto::mutable_attribute_proto)) {
      WalkAttribute(attribute, visit);
    }
    WalkNodes(In(function, &FunctionProto::node, &FunctionProto::mutable_node), visit);
  }
  for (auto& training : In(model, &ModelProto::training_info, &ModelProto::mutable_training_info)) {
    if (training.has_initialization()) {
      WalkGraph(In(training, &TrainingInfoProto::initialization, &TrainingInfoProto::mutable_initialization), visit);
    }
    if (training.has_algorithm()) {
      WalkGraph(In(training, &TrainingInfoProto::algorithm, &TrainingInfoProto::mutable_algorithm), visit);
    }
  }
}

}  // namespace

void ForEachTensor(const onnx::ModelProto& model, absl::FunctionRef<void(const onnx::TensorProto&)> visit) {
  WalkModel(model, [&](const TensorProto& tensor, Place) { visit(tensor); });
}

void ForEachInitializer(const onnx::ModelProto& model, absl::FunctionRef<void(const onnx::TensorProto&)> visit) {
  WalkModel(model, [&](const TensorProto& tensor, Place place) {
    if (place == Place::kInitializer) visit(tensor);
  });
}

void ForEachMutableTensor(onnx::ModelProto& model, absl::FunctionRef<void(onnx::TensorProto&)> visit) {
  WalkModel(model, [&](TensorProto& tensor, Place) { visit(tensor); });
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
