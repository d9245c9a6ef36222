#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/arena.h"
#include "ir/base/check.h"
#include "ir/graph/graph.h"
#include "ir/schema/schema.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

DType TensorElementType(const onnx::TypeProto& type) {
  return type.has_tensor_type() ? static_cast<DType>(type.tensor_type().elem_type()) : DType::kUndefined;
}

}  // namespace

ValueId Model::NewValue(GraphId graph_id, std::string name) {
  const ValueId id = values_.emplace_back();
  Value& v = mutable_value(id);
  v.graph = graph_id;
  mutable_graph(graph_id).names[name] = id;
  names_.Take(name);
  v.name = std::move(name);
  return id;
}

void Model::AddUse(ValueId value, const Use& use) {
  if (value != kNone) mutable_value(value).uses.push_back(use);
}

void Model::DropUse(ValueId value, const Use& use) {
  if (value == kNone) return;
  auto& uses = mutable_value(value).uses;
  auto it = std::find(uses.begin(), uses.end(), use);
  AMP_CHECK(it != uses.end());
  uses.erase(it);
}

void Model::MarkEdited(GraphId graph_id) {
  edited_ = true;
  mutable_graph(graph_id).edited = true;
}

onnx::ModelProto& Model::EditProto() {
  edited_ = true;
  return *proto_;
}

onnx::TensorProto& Model::EditInitializer(ValueId id) {
  Value& v = mutable_value(id);
  AMP_CHECK(v.IsInitializer());
  MarkEdited(v.graph);
  return *v.initializer;
}

void Model::Link(NodeId id, NodeId anchor) {
  Node& n = mutable_node(id);
  Graph& g = mutable_graph(n.graph);
  n.prev = anchor;
  n.next = anchor == kNone ? g.first : node(anchor).next;
  (n.prev == kNone ? g.first : mutable_node(n.prev).next) = id;
  (n.next == kNone ? g.last : mutable_node(n.next).prev) = id;
}

void Model::Unlink(NodeId id) {
  const Node& n = node(id);
  Graph& g = mutable_graph(n.graph);
  (n.prev == kNone ? g.first : mutable_node(n.prev).next) = n.next;
  (n.next == kNone ? g.last : mutable_node(n.next).prev) = n.prev;
}

void Model::SetOperator(NodeId id, absl::string_view domain, absl::string_view op_type) {
  mutable_node(id).op = &FindOperator(domain, op_type);
  std::string new_domain(domain), new_op_type(op_type);  // the node's own, perhaps, which setting one frees
  onnx::NodeProto& proto = EditProto(id);
  if (new_domain != node(id).domain()) proto.set_domain(std::move(new_domain));
  proto.set_op_type(std::move(new_op_type));
}

NodeId Model::InsertAfter(GraphId graph_id, NodeId anchor, const NewNode& spec) {
  AMP_CHECK(anchor == kNone || node(anchor).graph == graph_id);
  MarkEdited(graph_id);
  const NodeId id = nodes_.emplace_back();
  Node& n = mutable_node(id);
  n.graph = graph_id;
  n.inserted = true;
  n.index = anchor == kNone ? 0 : node(anchor).index;
  Link(id, anchor);
  n.proto = google::protobuf::Arena::CreateMessage<onnx::NodeProto>(arena_.get());
  n.proto->set_op_type(std::string(spec.op_type));
  if (!spec.domain.empty()) n.proto->set_domain(std::string(spec.domain));
  n.op = &FindOperator(n.domain(), spec.op_type);
  if (!spec.name.empty()) {
    names_.Take(spec.name);
    n.proto->set_name(spec.name);
  }
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    n.inputs.push_back(spec.inputs[i]);
    n.proto->add_input(spec.inputs[i] == kNone ? std::string() : value(spec.inputs[i]).name);
    AddUse(spec.inputs[i], Use{id, i, graph_id});
  }
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    n.proto->add_output(spec.outputs[i]);
    const ValueId out = NewValue(graph_id, spec.outputs[i]);
    mutable_value(out).producer = id;
    mutable_value(out).producer_port = i;
    n.outputs.push_back(out);
  }
  n.schema = FindOpSchema(spec.domain, spec.op_type, opset(spec.domain));
  const auto signatures = SignaturesOf(id);
  if (n.schema == nullptr && !signatures.empty()) n.schema = signatures.front().get();
  return id;
}

void Model::ReplaceUses(ValueId from, ValueId to, const std::function<bool(const Use&)>& filter) {
  auto& uses = mutable_value(from).uses;
  std::vector<Use> kept;
  for (const Use& use : uses) {
    if (use.IsModelOutput() || !filter(use)) {
      kept.push_back(use);
      continue;
    }
    mutable_value(to).uses.push_back(use);
    WriteUse(use, to);
  }
  uses = std::move(kept);
}

void Model::MoveUses(ValueId from, absl::Span<const UseMove> moves) {
  const auto key = [](const Use& use) { return std::make_tuple(use.graph, use.node, use.port); };
  absl::flat_hash_map<std::tuple<GraphId, NodeId, size_t>, ValueId> targets;
  for (const UseMove& move : moves) targets[key(move.use)] = move.to;
  auto& uses = mutable_value(from).uses;
  std::vector<Use> kept;
  for (const Use& use : uses) {
    const auto it = use.IsModelOutput() ? targets.end() : targets.find(key(use));
    if (it == targets.end()) {
      kept.push_back(use);
      continue;
    }
    mutable_value(it->second).uses.push_back(use);
    WriteUse(use, it->second);
  }
  uses = std::move(kept);
}

void Model::MoveUses(ValueId from, ValueId to, absl::Span<const Use> uses) {
  std::vector<UseMove> moves;
  for (const Use& use : uses) moves.push_back({use, to});
  MoveUses(from, moves);
}

// Makes topology and message say that `use` reads `value`.
void Model::WriteUse(const Use& use, ValueId value_id) {
  if (use.IsGraphOutput()) {
    mutable_graph(use.graph).outputs[use.port] = value_id;
    mutable_graph(use.graph).proto->mutable_output(static_cast<int>(use.port))->set_name(value(value_id).name);
  } else {
    mutable_node(use.node).inputs[use.port] = value_id;
    mutable_node(use.node).proto->set_input(static_cast<int>(use.port), value(value_id).name);
  }
  MarkEdited(use.graph);
}

void Model::SetInput(NodeId node_id, size_t port, ValueId value_id) {
  Node& n = mutable_node(node_id);
  const Use use{node_id, port, n.graph};
  DropUse(n.inputs[port], use);
  n.inputs[port] = value_id;
  n.proto->set_input(static_cast<int>(port), value_id == kNone ? std::string() : value(value_id).name);
  AddUse(value_id, use);
  MarkEdited(n.graph);
}

void Model::MoveInward(NodeId id, GraphId to) {
  Node& n = mutable_node(id);
  AMP_CHECK(n.bodies.empty());
  MarkEdited(n.graph);
  MarkEdited(to);
  Unlink(id);
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    const Use use{id, i, n.graph};
    DropUse(n.inputs[i], use);
    AddUse(n.inputs[i], {id, use.port, to});
  }
  for (const ValueId out : n.PresentOutputs()) {
    Value& v = mutable_value(out);
    mutable_graph(n.graph).names.erase(v.name);
    mutable_graph(to).names[v.name] = out;
    v.graph = to;
  }
  n.graph = to;
  n.index = 0;
  Link(id, kNone);
}

NodeId Model::NestInBody(NodeId outer, absl::string_view body) {
  const GraphId graph_id = graphs_.emplace_back();
  onnx::NodeProto& proto = EditProto(outer);
  auto* inner_proto = google::protobuf::Arena::CreateMessage<onnx::NodeProto>(arena_.get());
  inner_proto->mutable_attribute()->Swap(proto.mutable_attribute());  // bodies stay where they are in memory
  auto* attribute = proto.add_attribute();
  attribute->set_name(std::string(body));
  attribute->set_type(onnx::AttributeProto::GRAPH);
  onnx::GraphProto* graph_proto = attribute->mutable_g();
  graph_proto->set_name(UniqueName(absl::StrCat(value(node(outer).Output(0)).name, "_", body)));
  Graph& g = mutable_graph(graph_id);
  g.proto = graph_proto;
  g.owner = outer;

  const auto mirror = [&](ValueId of, onnx::ValueInfoProto* info) {
    const ValueId id = NewValue(graph_id, UniqueName(absl::StrCat(value(of).name, "_slice")));
    info->set_name(value(id).name);
    if (!value(of).is_tensor) return id;
    onnx::TypeProto type;
    type.mutable_tensor_type()->set_elem_type(static_cast<int32_t>(value(of).dtype));
    info->mutable_type()->CopyFrom(type);
    SetType(id, type);
    return id;
  };
  NewNode spec{
      .op_type = node(outer).op_type(), .domain = node(outer).domain(), .name = {}, .inputs = {}, .outputs = {}};
  for (ValueId in : node(outer).inputs) {
    const ValueId id = mirror(in, graph_proto->add_input());
    mutable_value(id).is_graph_input = true;
    mutable_graph(graph_id).inputs.push_back(id);
    spec.inputs.push_back(id);
  }
  std::vector<ValueId> outputs;
  for (ValueId out : node(outer).outputs) outputs.push_back(mirror(out, graph_proto->add_output()));

  const NodeId inner = InsertAfter(graph_id, kNone, spec);
  Node& n = mutable_node(inner);
  n.proto->mutable_attribute()->Swap(inner_proto->mutable_attribute());
  for (size_t i = 0; i < outputs.size(); ++i) {
    n.outputs.push_back(outputs[i]);
    n.proto->add_output(value(outputs[i]).name);
    mutable_value(outputs[i]).producer = inner;
    mutable_value(outputs[i]).producer_port = i;
    mutable_graph(graph_id).outputs.push_back(outputs[i]);
    AddUse(outputs[i], Use{kNone, i, graph_id});
  }
  n.bodies = std::move(mutable_node(outer).bodies);
  for (GraphId nested : n.bodies) mutable_graph(nested).owner = inner;
  mutable_node(outer).bodies = {graph_id};
  return inner;
}

void Model::AppendInput(NodeId node_id, ValueId value_id) {
  Node& n = mutable_node(node_id);
  const Use use{node_id, n.inputs.size(), n.graph};
  n.inputs.push_back(value_id);
  n.proto->add_input(value_id == kNone ? std::string() : value(value_id).name);
  AddUse(value_id, use);
  MarkEdited(n.graph);
}

void Model::TruncateInputs(NodeId node_id, size_t count) {
  Node& n = mutable_node(node_id);
  while (n.inputs.size() > count) {
    DropUse(n.inputs.back(), Use{node_id, n.inputs.size() - 1, n.graph});
    n.inputs.pop_back();
    n.proto->mutable_input()->RemoveLast();
  }
  MarkEdited(n.graph);
}

void Model::TruncateOutputs(NodeId node_id, size_t count) {
  Node& n = mutable_node(node_id);
  while (n.outputs.size() > count) {
    const ValueId out = n.outputs.back();
    AMP_CHECK(out == kNone || value(out).uses.empty());
    if (out != kNone) mutable_graph(n.graph).names.erase(value(out).name);
    n.outputs.pop_back();
    n.proto->mutable_output()->RemoveLast();
  }
  MarkEdited(n.graph);
}

void Model::Erase(NodeId id) {
  Node& n = mutable_node(id);
  AMP_CHECK(!n.erased);
  for (const ValueId out : n.PresentOutputs()) AMP_CHECK(value(out).uses.empty());
  for (size_t i = 0; i < n.inputs.size(); ++i) DropUse(n.inputs[i], Use{id, i, n.graph});
  Unlink(id);
  Graph& g = mutable_graph(n.graph);
  for (const ValueId out : n.PresentOutputs()) g.names.erase(value(out).name);
  n.erased = true;
  MarkEdited(n.graph);
}

void Model::Rename(ValueId id, std::string name) {
  Value& v = mutable_value(id);
  Graph& g = mutable_graph(v.graph);
  if (auto it = g.names.find(v.name); it != g.names.end() && it->second == id) g.names.erase(it);
  names_.Take(name);
  g.names[name] = id;
  v.name = std::move(name);
  if (v.producer != kNone) mutable_node(v.producer).proto->set_output(static_cast<int>(v.producer_port), v.name);
  if (v.IsInitializer()) v.initializer->set_name(v.name);
  for (const Use& use : v.uses) WriteUse(use, id);
  MarkEdited(v.graph);
}

void Model::TakeOverGraphOutputs(ValueId from, ValueId to, std::string new_name_of_from) {
  auto& uses = mutable_value(from).uses;
  const auto first_output =
      std::stable_partition(uses.begin(), uses.end(), [](const Use& u) { return !u.IsModelOutput(); });
  for (auto it = first_output; it != uses.end(); ++it) {
    mutable_graph(it->graph).outputs[it->port] = to;
    mutable_value(to).uses.push_back(*it);
  }
  uses.erase(first_output, uses.end());
  std::string public_name = value(from).name;
  Rename(from, std::move(new_name_of_from));
  Rename(to, std::move(public_name));
}

ValueId Model::AddInitializer(GraphId graph_id, std::string name, onnx::TensorProto* tensor) {
  const ValueId id = NewValue(graph_id, std::move(name));
  mutable_graph(graph_id).initializers.push_back(id);
  if (ir_version() < kInitializersNeedNoInput && graph_id == kMainGraph) {
    Graph& g = mutable_graph(graph_id);
    Value& v = mutable_value(id);
    auto* input = g.proto->add_input();
    input->set_name(v.name);
    v.type = input->mutable_type();
    auto* shape = v.type->mutable_tensor_type()->mutable_shape();
    for (int64_t dim : tensor->dims()) shape->add_dim()->set_dim_value(dim);
    v.is_graph_input = v.is_constant_default = true;
    g.inputs.push_back(id);
  }
  ReplaceInitializer(id, tensor);
  return id;
}

void Model::ReplaceInitializer(ValueId id, onnx::TensorProto* tensor) {
  Value& v = mutable_value(id);
  tensor->set_name(v.name);
  v.initializer = tensor;
  if (v.type == nullptr) {
    v.type = google::protobuf::Arena::CreateMessage<onnx::TypeProto>(arena_.get());
    auto* shape = v.type->mutable_tensor_type()->mutable_shape();
    for (int64_t dim : tensor->dims()) shape->add_dim()->set_dim_value(dim);
  }
  SetTensorType(id, static_cast<DType>(tensor->data_type()));
}

void Model::RemoveInitializer(ValueId id) {
  Value& v = mutable_value(id);
  AMP_CHECK(v.IsInitializer() && v.uses.empty());
  Graph& g = mutable_graph(v.graph);
  g.initializers.erase(std::find(g.initializers.begin(), g.initializers.end(), id));
  g.names.erase(v.name);
  v.initializer = nullptr;
  if (auto input = std::find(g.inputs.begin(), g.inputs.end(), id); input != g.inputs.end()) {
    g.proto->mutable_input()->DeleteSubrange(static_cast<int>(input - g.inputs.begin()), 1);
    g.inputs.erase(input);
  }
  MarkEdited(v.graph);
}

void Model::SetTensorType(ValueId id, DType dtype) {
  Value& v = mutable_value(id);
  if (v.type == nullptr) v.type = google::protobuf::Arena::CreateMessage<onnx::TypeProto>(arena_.get());
  v.type->mutable_tensor_type()->set_elem_type(static_cast<int32_t>(dtype));
  v.is_tensor = true;
  v.dtype = dtype;
  MarkEdited(v.graph);
}

void Model::SetElementType(ValueId id, DType dtype) {
  Value& v = mutable_value(id);
  if (v.is_tensor) return SetTensorType(id, dtype);
  onnx::TypeProto_Tensor* tensor = InnermostTensor(v.type.get());
  AMP_CHECK(tensor != nullptr);
  tensor->set_elem_type(static_cast<int32_t>(dtype));
  MarkEdited(v.graph);
}

void Model::SetGraphOutputType(size_t port, DType dtype) {
  Graph& g = mutable_graph(kMainGraph);
  g.proto->mutable_output(static_cast<int>(port))
      ->mutable_type()
      ->mutable_tensor_type()
      ->set_elem_type(static_cast<int32_t>(dtype));
  MarkEdited(kMainGraph);
}

void Model::SetType(ValueId id, const onnx::TypeProto& type) {
  Value& v = mutable_value(id);
  if (v.type == nullptr) v.type = google::protobuf::Arena::CreateMessage<onnx::TypeProto>(arena_.get());
  if (v.type.get() != &type) v.type->CopyFrom(type);
  v.is_tensor = type.has_tensor_type();
  v.dtype = TensorElementType(type);
}

void Model::AdoptType(ValueId id, onnx::TypeProto* type) {
  Value& v = mutable_value(id);
  v.type = type;
  v.is_tensor = type->has_tensor_type();
  v.dtype = TensorElementType(*type);
}

void Model::ForgetType(ValueId id) {
  Value& v = mutable_value(id);
  v.type = nullptr;
  v.is_tensor = false;
  v.dtype = DType::kUndefined;
}

void Model::CopyType(ValueId from, ValueId to) {
  if (value(from).type != nullptr) SetType(to, *value(from).type);
}

void Model::SetIrVersion(int version) {
  if (ir_version() < kInitializersNeedNoInput && version >= kInitializersNeedNoInput) DropInitializerInputs();
  proto_->set_ir_version(version);
  edited_ = true;
}

void Model::FreezeInitializers() {
  const Graph& main = graph(kMainGraph);
  const auto is_default = [&](ValueId id) { return value(id).IsInitializer(); };
  if (std::none_of(main.inputs.begin(), main.inputs.end(), is_default)) return;
  DropInitializerInputs();
  SetIrVersion(std::max(ir_version(), kInitializersNeedNoInput));
}

// From kInitializersNeedNoInput on such an entry makes an initializer a default that callers may override.
void Model::DropInitializerInputs() {
  Graph& main = mutable_graph(kMainGraph);
  auto& inputs = *main.proto->mutable_input();
  std::vector<ValueId> kept;
  int write = 0;
  for (size_t i = 0; i < main.inputs.size(); ++i) {
    Value& v = mutable_value(main.inputs[i]);
    if (v.IsInitializer()) {
      v.type = google::protobuf::Arena::CreateMessage<onnx::TypeProto>(arena_.get());
      v.type->CopyFrom(inputs[static_cast<int>(i)].type());
      v.is_graph_input = v.is_constant_default = false;
      continue;
    }
    if (write != static_cast<int>(i)) inputs.SwapElements(write, static_cast<int>(i));
    ++write;
    kept.push_back(main.inputs[i]);
  }
  inputs.DeleteSubrange(write, inputs.size() - write);
  for (int i = 0; i < write; ++i) mutable_value(kept[static_cast<size_t>(i)]).type = inputs[i].mutable_type();
  main.inputs = std::move(kept);
  MarkEdited(kMainGraph);
}

}  // namespace amp
