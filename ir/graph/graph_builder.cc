// Model::Create: from a loaded message to the structs of graph.h.
//
// Scopes are read outside in; a name is looked up in its own scope first, then in the enclosing ones. A value may be
// read before the node that produces it in the file (some exporters write unsorted graphs): names are declared for a
// whole graph before any is resolved, and the nodes are put in order afterwards.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/arena.h"
#include "ir/base/check.h"
#include "ir/base/status.h"
#include "ir/base/topological_order.h"
#include "ir/graph/graph.h"
#include "ir/graph/graph_ports.h"
#include "ir/graph/shape.h"
#include "ir/schema/operator_label.h"
#include "ir/schema/schema.h"
#include "onnx/onnx_pb.h"

namespace amp {

class GraphBuilder {
 public:
  explicit GraphBuilder(Model& model) : model_(model) {}

  absl::Status Build() {
    for (const auto& function : model_.proto_->functions()) DeclareFunction(function);
    AMP_RETURN_IF_ERROR(BuildGraph(model_.proto_->mutable_graph(), kNone).status());
    MarkTrainingState();
    model_.ResolveSchemas();
    for (const GraphId id : model_.AllGraphs()) AMP_RETURN_IF_ERROR(SortGraph(id));
    model_.edited_ = false;
    return absl::OkStatus();
  }

  // graph_ports.h
  ValueId AddInput(std::string name, const onnx::TypeProto& type) {
    model_.MarkEdited(kMainGraph);
    Graph& graph = model_.mutable_graph(kMainGraph);
    auto& input = *graph.proto->add_input();
    input.set_name(name);
    *input.mutable_type() = type;
    const ValueId id = model_.NewValue(kMainGraph, std::move(name));
    model_.mutable_value(id).is_graph_input = true;
    model_.AdoptType(id, input.mutable_type());
    graph.inputs.push_back(id);
    return id;
  }

  void AddOutput(ValueId id) {
    model_.MarkEdited(kMainGraph);
    Graph& graph = model_.mutable_graph(kMainGraph);
    auto& output = *graph.proto->add_output();
    output.set_name(model_.value(id).name);
    *output.mutable_type() = *model_.value(id).type;
    model_.AddUse(id, Use{kNone, graph.outputs.size(), kMainGraph});
    graph.outputs.push_back(id);
  }

  void MakeOverridable(ValueId id) {
    AMP_CHECK(model_.ir_version() >= kInitializersNeedNoInput);
    Value& v = model_.mutable_value(id);
    AMP_CHECK(v.IsInitializer() && v.graph == kMainGraph && v.type != nullptr);
    if (v.is_graph_input) return;
    model_.MarkEdited(kMainGraph);
    Graph& graph = model_.mutable_graph(kMainGraph);
    auto& input = *graph.proto->add_input();
    input.set_name(v.name);
    *input.mutable_type() = *v.type;
    v.type = input.mutable_type();
    v.is_graph_input = v.is_constant_default = true;
    graph.inputs.push_back(id);
  }

  void RemoveOutput(size_t port) {
    model_.MarkEdited(kMainGraph);
    Graph& graph = model_.mutable_graph(kMainGraph);
    AMP_CHECK(port < graph.outputs.size());
    for (size_t i = port; i < graph.outputs.size(); ++i) model_.DropUse(graph.outputs[i], Use{kNone, i, kMainGraph});
    graph.proto->mutable_output()->DeleteSubrange(static_cast<int>(port), 1);
    graph.outputs.erase(graph.outputs.begin() + static_cast<std::ptrdiff_t>(port));
    for (size_t i = port; i < graph.outputs.size(); ++i) model_.AddUse(graph.outputs[i], Use{kNone, i, kMainGraph});
  }

  void DeclareFunction(const onnx::FunctionProto& function) {
    model_.functions_.insert(absl::StrCat(OperatorKey(function.domain(), function.name()), ":", function.overload()));
  }

 private:
  absl::StatusOr<GraphId> BuildGraph(onnx::GraphProto* proto, NodeId owner);
  absl::Status Declare(GraphId graph, const std::string& name, absl::string_view what, ValueId* id);
  absl::Status DeclareInputsAndInitializers(GraphId graph);
  absl::Status CheckDeclaredShape(GraphId graph, ValueId id, const onnx::TensorProto& tensor) const;
  absl::Status DeclareNodes(GraphId graph, std::vector<NodeId>* nodes);
  absl::Status ResolveNode(NodeId node);
  ValueId Lookup(GraphId graph, const std::string& name) const;
  absl::Status SortGraph(GraphId graph);
  // The node of `graph` that `use` belongs to, through enclosing scopes; kNone for an output of `graph` itself.
  NodeId Ancestor(const Use& use, GraphId graph) const;
  void MarkTrainingState();

  std::string Place(GraphId graph) const {
    const NodeId owner = model_.graph(graph).owner;
    return owner == kNone ? "graph" : absl::StrCat("body of node '", Escaped(model_.NodeLabel(owner)), "'");
  }

  Model& model_;
};

absl::Status GraphBuilder::Declare(GraphId graph, const std::string& name, absl::string_view what, ValueId* id) {
  if (model_.graph(graph).names.contains(name)) {
    return ModelError(Place(graph), ": ", what, " '", Escaped(name), "' is defined twice; expected unique value names");
  }
  *id = model_.NewValue(graph, name);
  return absl::OkStatus();
}

// Whoever reads elements goes by the shape that the value has, which is the input's. Dimensions that the input leaves
// open fit any.
absl::Status GraphBuilder::CheckDeclaredShape(GraphId graph, ValueId id, const onnx::TensorProto& tensor) const {
  const auto declared = ShapeOf(model_, id);
  if (!declared.has_value()) return absl::OkStatus();
  const std::vector<int64_t> found(tensor.dims().begin(), tensor.dims().end());
  const auto fits = [](int64_t wanted, int64_t dim) { return wanted == kUnknownDim || wanted == dim; };
  if (std::equal(declared->begin(), declared->end(), found.begin(), found.end(), fits)) return absl::OkStatus();
  return ModelError(Place(graph), ": initializer '", Escaped(tensor.name()), "': expected ", TypeText(model_, id),
                    " as the input of its name declares, found ", DTypeName(static_cast<DType>(tensor.data_type())),
                    "[", absl::StrJoin(found, ","), "]");
}

absl::Status GraphBuilder::DeclareInputsAndInitializers(GraphId graph) {
  onnx::GraphProto& proto = *model_.mutable_graph(graph).proto;
  for (auto& input : *proto.mutable_input()) {
    ValueId id;
    AMP_RETURN_IF_ERROR(Declare(graph, input.name(), "input", &id));
    Value& v = model_.mutable_value(id);
    v.is_graph_input = true;
    if (input.has_type()) model_.AdoptType(id, input.mutable_type());
    model_.mutable_graph(graph).inputs.push_back(id);
  }
  for (auto& tensor : *proto.mutable_initializer()) {
    auto it = model_.graph(graph).names.find(tensor.name());
    ValueId id;
    if (it != model_.graph(graph).names.end() && model_.value(it->second).is_graph_input &&
        !model_.value(it->second).IsInitializer()) {
      id = it->second;
      model_.mutable_value(id).is_constant_default = true;
      const DType declared = model_.value(id).dtype, found = static_cast<DType>(tensor.data_type());
      if (declared != DType::kUndefined && declared != found) {
        return ModelError(Place(graph), ": initializer '", Escaped(tensor.name()), "': expected ", DTypeName(declared),
                          " as the input of its name declares, found ", DTypeName(found));
      }
      AMP_RETURN_IF_ERROR(CheckDeclaredShape(graph, id, tensor));
    } else {
      AMP_RETURN_IF_ERROR(Declare(graph, tensor.name(), "initializer", &id));
    }
    Value& v = model_.mutable_value(id);
    v.initializer = &tensor;
    model_.mutable_graph(graph).initializers.push_back(id);
    if (v.is_constant_default) continue;
    v.type = google::protobuf::Arena::CreateMessage<onnx::TypeProto>(model_.arena());
    auto* type = v.type->mutable_tensor_type();
    type->set_elem_type(tensor.data_type());
    auto* shape = type->mutable_shape();
    for (int64_t dim : tensor.dims()) shape->add_dim()->set_dim_value(dim);
    v.is_tensor = true;
    v.dtype = static_cast<DType>(tensor.data_type());
  }
  for (const auto& sparse : proto.sparse_initializer()) {
    ValueId id;
    AMP_RETURN_IF_ERROR(Declare(graph, sparse.values().name(), "sparse initializer", &id));
    onnx::TypeProto type;  // readers see a dense tensor
    type.mutable_tensor_type()->set_elem_type(sparse.values().data_type());
    for (int64_t dim : sparse.dims()) type.mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(dim);
    model_.SetType(id, type);
  }
  return absl::OkStatus();
}

absl::Status GraphBuilder::DeclareNodes(GraphId graph, std::vector<NodeId>* nodes) {
  onnx::GraphProto& proto = *model_.mutable_graph(graph).proto;
  // Not for bodies: many exact reservations would copy all nodes each time.
  if (graph == kMainGraph) model_.nodes_.reserve(static_cast<size_t>(proto.node_size()));
  NodeId previous = kNone;
  int index = 0;
  absl::flat_hash_map<std::string, int32_t> unnamed;  // by operator
  for (auto& node_proto : *proto.mutable_node()) {
    const NodeId id = model_.nodes_.emplace_back();
    Node& n = model_.mutable_node(id);
    n.proto = &node_proto;
    n.op = &FindOperator(n.domain(), n.op_type());
    n.graph = graph;
    n.index = index++;
    n.prev = previous;
    (previous == kNone ? model_.mutable_graph(graph).first : model_.mutable_node(previous).next) = id;
    previous = id;
    if (node_proto.name().empty()) {
      n.ordinal = unnamed[node_proto.op_type()]++;
    } else {
      model_.names_.Take(node_proto.name());
    }
    for (const std::string& name : node_proto.output()) {
      ValueId out = kNone;
      if (!name.empty()) {
        AMP_RETURN_IF_ERROR(Declare(graph, name, absl::StrCat("output of ", Escaped(model_.NodeLabel(id))), &out));
        model_.mutable_value(out).producer = id;
        model_.mutable_value(out).producer_port = model_.node(id).outputs.size();
      }
      model_.mutable_node(id).outputs.push_back(out);
    }
    nodes->push_back(id);
  }
  model_.mutable_graph(graph).last = previous;
  return absl::OkStatus();
}

ValueId GraphBuilder::Lookup(GraphId graph, const std::string& name) const {
  while (true) {
    const Graph& g = model_.graph(graph);
    if (auto it = g.names.find(name); it != g.names.end()) return it->second;
    if (g.owner == kNone) return kNone;
    graph = model_.node(g.owner).graph;
  }
}

absl::Status GraphBuilder::ResolveNode(NodeId id) {
  onnx::NodeProto& proto = *model_.mutable_node(id).proto;
  const GraphId graph = model_.node(id).graph;
  for (int port = 0; port < proto.input_size(); ++port) {
    const std::string& name = proto.input(port);
    ValueId value = kNone;
    if (!name.empty()) {
      value = Lookup(graph, name);
      if (value == kNone) {
        return ModelError(Place(graph), ": node '", Escaped(model_.NodeLabel(id)), "' (", Escaped(proto.op_type()),
                          ") input ", port, ": expected a defined value, found unknown name '", Escaped(name), "'");
      }
      model_.AddUse(value, Use{id, static_cast<size_t>(port), graph});
    }
    model_.mutable_node(id).inputs.push_back(value);
  }
  for (auto& attribute : *proto.mutable_attribute()) {
    if (attribute.has_g()) AMP_RETURN_IF_ERROR(BuildGraph(attribute.mutable_g(), id).status());
    for (auto& body : *attribute.mutable_graphs()) AMP_RETURN_IF_ERROR(BuildGraph(&body, id).status());
  }
  return absl::OkStatus();
}

absl::StatusOr<GraphId> GraphBuilder::BuildGraph(onnx::GraphProto* proto, NodeId owner) {
  const GraphId graph = model_.graphs_.emplace_back();
  model_.mutable_graph(graph).proto = proto;
  model_.mutable_graph(graph).owner = owner;
  if (owner != kNone) model_.mutable_node(owner).bodies.push_back(graph);

  std::vector<NodeId> nodes;
  AMP_RETURN_IF_ERROR(DeclareInputsAndInitializers(graph));
  AMP_RETURN_IF_ERROR(DeclareNodes(graph, &nodes));
  for (NodeId id : nodes) AMP_RETURN_IF_ERROR(ResolveNode(id));
  for (int port = 0; port < proto->output_size(); ++port) {
    const ValueId value = Lookup(graph, proto->output(port).name());
    if (value == kNone) {
      return ModelError(Place(graph), ": output ", port, ": expected a defined value, found unknown name '",
                        Escaped(proto->output(port).name()), "'");
    }
    model_.AddUse(value, Use{kNone, static_cast<size_t>(port), graph});
    model_.mutable_graph(graph).outputs.push_back(value);
  }
  return graph;
}

NodeId GraphBuilder::Ancestor(const Use& use, GraphId graph) const {
  NodeId id = use.node;
  GraphId scope = use.graph;
  while (scope != graph) {
    id = model_.graph(scope).owner;
    scope = model_.node(id).graph;
  }
  return id;
}

absl::Status GraphBuilder::SortGraph(GraphId graph) {
  const std::vector<NodeId> order = model_.NodesInOrder(graph);
  if (order.empty()) return absl::OkStatus();
  bool sorted = true;
  const auto for_each_reader = [&](NodeId id, const auto& action) {
    for (const ValueId out : model_.node(id).PresentOutputs()) {
      for (const Use& use : model_.value(out).uses) {
        const NodeId reader = Ancestor(use, graph);
        if (reader != kNone) action(reader);
      }
    }
  };
  for (NodeId id : order) {
    for_each_reader(id, [&](NodeId reader) { sorted &= model_.node(reader).index > model_.node(id).index; });
  }
  if (sorted) return absl::OkStatus();

  absl::flat_hash_map<NodeId, size_t> position;
  for (size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  std::vector<std::vector<size_t>> readers(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    for_each_reader(order[i], [&](NodeId reader) { readers[i].push_back(position.at(reader)); });
  }
  const TopologicalOrder placed = SortTopologically(readers);  // file order among those that can come next
  if (placed.first_in_cycle) {
    return ModelError(Place(graph), ": node '", Escaped(model_.NodeLabel(order[*placed.first_in_cycle])),
                      "' depends on its own output; expected a graph without cycles");
  }
  Graph& g = model_.mutable_graph(graph);
  g.first = g.last = kNone;
  for (const size_t i : placed.order) {
    Node& n = model_.mutable_node(order[i]);
    n.prev = g.last;
    n.next = kNone;
    (g.last == kNone ? g.first : model_.mutable_node(g.last).next) = order[i];
    g.last = order[i];
  }
  g.edited = true;  // written back in order if anything is written at all
  model_.AddWarning(absl::StrCat(Place(graph), ": nodes were not in topological order; sorted"));
  return absl::OkStatus();
}

// The graphs of training_info see the main graph's initializers by name.
void GraphBuilder::MarkTrainingState() {
  const auto mark = [&](const std::string& name) {
    const auto& names = model_.graph(kMainGraph).names;
    if (auto it = names.find(name); it != names.end()) model_.mutable_value(it->second).is_training_state = true;
  };
  for (const auto& training : model_.proto_->training_info()) {
    for (const auto& binding : training.initialization_binding()) mark(binding.key());
    for (const auto& binding : training.update_binding()) mark(binding.key());
    for (const auto* graph : {&training.initialization(), &training.algorithm()}) {
      for (const auto& node : graph->node()) std::for_each(node.input().begin(), node.input().end(), mark);
    }
  }
}

absl::StatusOr<std::unique_ptr<Model>> Model::Create(std::unique_ptr<google::protobuf::Arena> arena,
                                                     onnx::ModelProto* proto,
                                                     std::shared_ptr<const OpSignatures> signatures, Weights weights) {
  std::unique_ptr<Model> model(new Model(std::move(arena), proto, std::move(signatures), std::move(weights)));
  AMP_RETURN_IF_ERROR(GraphBuilder(*model).Build());
  return model;
}

ValueId AddGraphInput(Model& model, std::string name, DType dtype, const std::vector<int64_t>& dims,
                      const std::vector<std::string>& symbols) {
  onnx::TypeProto type;
  type.mutable_tensor_type()->set_elem_type(static_cast<int32_t>(dtype));
  auto& shape = *type.mutable_tensor_type()->mutable_shape();
  for (size_t i = 0; i < dims.size(); ++i) {
    auto& dim = *shape.add_dim();
    if (dims[i] >= 0) {
      dim.set_dim_value(dims[i]);
    } else if (!symbols[i].empty()) {
      dim.set_dim_param(symbols[i]);
    }
  }
  return GraphBuilder(model).AddInput(std::move(name), type);
}

void AddGraphOutput(Model& model, ValueId value) {
  AMP_CHECK(model.value(value).graph == kMainGraph && model.value(value).type != nullptr);
  if (!model.IsModelOutput(value)) GraphBuilder(model).AddOutput(value);
}

void MakeOverridable(Model& model, ValueId initializer) { GraphBuilder(model).MakeOverridable(initializer); }

void RemoveGraphOutput(Model& model, size_t port) { GraphBuilder(model).RemoveOutput(port); }

void AddModelFunction(Model& model, const onnx::FunctionProto& function) {
  *model.EditProto().add_functions() = function;
  GraphBuilder(model).DeclareFunction(function);
}

}  // namespace amp
