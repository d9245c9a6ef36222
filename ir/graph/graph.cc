#include "ir/graph/graph.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/arena.h"
#include "ir/base/check.h"
#include "ir/graph/attributes.h"
#include "ir/graph/stated_shapes.h"
#include "ir/schema/op_signatures.h"
#include "ir/schema/operator_label.h"
#include "ir/schema/opset_imports.h"
#include "ir/schema/schema.h"
#include "onnx/onnx_pb.h"

namespace amp {

onnx::TypeProto_Tensor* InnermostTensor(onnx::TypeProto* type) {
  while (type != nullptr && !type->has_tensor_type()) {
    if (type->sequence_type().has_elem_type()) {
      type = type->mutable_sequence_type()->mutable_elem_type();
    } else if (type->optional_type().has_elem_type()) {
      type = type->mutable_optional_type()->mutable_elem_type();
    } else {
      return nullptr;
    }
  }
  return type == nullptr ? nullptr : type->mutable_tensor_type();
}

const onnx::TypeProto_Tensor* InnermostTensor(const onnx::TypeProto* type) {
  while (type != nullptr && !type->has_tensor_type()) {
    if (type->sequence_type().has_elem_type()) {
      type = &type->sequence_type().elem_type();
    } else if (type->optional_type().has_elem_type()) {
      type = &type->optional_type().elem_type();
    } else {
      return nullptr;
    }
  }
  return type == nullptr ? nullptr : &type->tensor_type();
}

DType ElementType(const Value& value) {
  if (value.is_tensor || value.type == nullptr) return value.dtype;
  const onnx::TypeProto_Tensor* tensor = InnermostTensor(value.type.get());
  return tensor == nullptr ? DType::kUndefined : static_cast<DType>(tensor->elem_type());
}

absl::string_view Node::op_type() const { return proto->op_type(); }
absl::string_view Node::domain() const { return CanonicalDomain(proto->domain()); }
absl::string_view Node::name() const { return proto->name(); }

const Value& Model::AbsentValue() {
  static const auto* const absent = new Value;
  return *absent;
}

std::string InlinedCall::FunctionName() const { return OperatorLabel(domain, function); }

Model::Model(std::unique_ptr<google::protobuf::Arena> arena, onnx::ModelProto* proto,
             std::shared_ptr<const OpSignatures> signatures, Weights weights)
    : arena_(std::move(arena)), proto_(proto), weights_(std::move(weights)), signatures_(std::move(signatures)) {
  if (signatures_ == nullptr) signatures_ = OpSignatures::BuiltIn();
}
Model::~Model() = default;
std::unique_ptr<google::protobuf::Arena> Model::ReleaseArena() {
  AMP_CHECK(!weights_.ConvertsAny());
  return std::move(arena_);
}

std::vector<NodeId> Model::NodesInOrder(GraphId graph_id) const {
  std::vector<NodeId> order;
  order.reserve(static_cast<size_t>(graph(graph_id).proto->node_size()));
  for (NodeId id = graph(graph_id).first; id != kNone; id = node(id).next) order.push_back(id);
  return order;
}

int Model::opset(absl::string_view domain) const { return static_cast<int>(ImportedVersion(*proto_, domain)); }

void Model::SetOpset(absl::string_view domain, int version) {
  bool is_imported = false;
  for (auto& import : *proto_->mutable_opset_import()) {
    if (CanonicalDomain(import.domain()) != CanonicalDomain(domain)) continue;
    import.set_version(version);
    is_imported = true;
  }
  if (!is_imported) {
    onnx::OperatorSetIdProto* import = proto_->add_opset_import();
    import->set_domain(std::string(CanonicalDomain(domain)));
    import->set_version(version);
  }
  edited_ = true;
  ResolveSchemas();
}

int Model::ir_version() const { return static_cast<int>(proto_->ir_version()); }

std::string Model::NodeLabel(NodeId id) const {
  const Node& n = node(id);
  if (!n.name().empty()) return std::string(n.name());
  return absl::StrCat(n.op_type(), "#", n.ordinal);
}

bool Model::IsWithinCall(NodeId id, CallId call) const {
  CallId at = node(id).call;
  while (at != kNone && at != call) at = this->call(at).parent;
  return at == call;
}

bool Model::IsCallOfFunction(NodeId id) const {
  if (functions_.empty()) return false;
  const Node& n = node(id);
  return functions_.contains(absl::StrCat(OperatorKey(n.domain(), n.op_type()), ":", n.proto->overload()));
}

absl::Span<const std::shared_ptr<const OpSchema>> Model::SignaturesOf(NodeId id) const {
  // Functions of this program's own stay calls, and what they take may be low.
  if (IsCallOfFunction(id) && node(id).domain() != "ai.amp") return {};
  return signatures_->Find(node(id).domain(), node(id).op_type());
}

bool Model::IsGraphOutput(ValueId id) const {
  return std::any_of(value(id).uses.begin(), value(id).uses.end(), [](const Use& use) { return use.IsGraphOutput(); });
}

bool Model::IsModelOutput(ValueId id) const {
  return std::any_of(value(id).uses.begin(), value(id).uses.end(), [](const Use& use) { return use.IsModelOutput(); });
}

bool Model::IsConstant(ValueId id) const {
  const Value& v = value(id);
  if (v.is_training_state) return false;
  if (v.IsInitializer()) return !v.is_constant_default || ir_version() < kInitializersNeedNoInput;
  if (v.producer == kNone) return false;
  const Node& producer = node(v.producer);
  return producer.Has(Role::kConstant) && !IsCallOfFunction(v.producer) && !HasAttribute(producer, "sparse_value");
}

void Model::AddWarning(std::string text) {
  if (seen_warnings_.insert(text).second) warnings_.push_back(std::move(text));
}

void Model::Commit() {
  if (!edited_) return;
  for (const GraphId id : AllGraphs()) {
    if (graph(id).edited) CommitGraph(id);
  }
}

void Model::CommitGraph(GraphId graph_id) {
  Graph& g = mutable_graph(graph_id);
  auto& nodes = *g.proto->mutable_node();
  if (!nodes.empty()) nodes.UnsafeArenaExtractSubrange(0, nodes.size(), nullptr);
  for (NodeId id = g.first; id != kNone; id = node(id).next)
    nodes.UnsafeArenaAddAllocated(mutable_node(id).proto.get());
  auto& tensors = *g.proto->mutable_initializer();
  if (!tensors.empty()) tensors.UnsafeArenaExtractSubrange(0, tensors.size(), nullptr);
  for (ValueId id : g.initializers) tensors.UnsafeArenaAddAllocated(mutable_value(id).initializer.get());
  StateTypes(*this, graph_id, *g.proto);
}

void Model::ResolveSchemas() {
  absl::flat_hash_map<std::pair<absl::string_view, absl::string_view>, const OpSchema*> found;
  absl::flat_hash_map<absl::string_view, int> versions;
  for (const auto& import : proto_->opset_import())
    versions[CanonicalDomain(import.domain())] = static_cast<int>(import.version());
  for (const NodeId id : AllNodes()) {
    Node& n = mutable_node(id);
    auto [it, is_new] = found.try_emplace({n.domain(), n.op_type()}, nullptr);
    if (is_new) {
      auto version = versions.find(n.domain());
      const bool is_operator = version != versions.end() && !IsCallOfFunction(id);
      if (is_operator) it->second = FindOpSchema(n.domain(), n.op_type(), version->second);
      const auto signatures = SignaturesOf(id);
      const bool needs_one = version != versions.end() && it->second == nullptr;
      if (needs_one && !signatures.empty()) it->second = signatures.front().get();
    }
    n.schema = it->second;
  }
}

void Model::CheckConsistency() const {
  IdVector<NodeId, std::vector<bool>> is_listed;  // each input of each node, among the uses of a value
  for (const Node& n : nodes_) is_listed.push_back(std::vector<bool>(n.inputs.size()));
  for (const ValueId id : AllValues()) {
    for (const Use& use : value(id).uses) {
      if (use.IsGraphOutput()) {
        AMP_CHECK(graph(use.graph).outputs[use.port] == id);
        AMP_CHECK(graph(use.graph).proto->output(static_cast<int>(use.port)).name() == value(id).name);
      } else {
        AMP_CHECK(!node(use.node).erased && use.graph == node(use.node).graph);
        AMP_CHECK(use.port < node(use.node).inputs.size() && node(use.node).inputs[use.port] == id);
        AMP_CHECK(!is_listed[use.node][use.port]);
        is_listed[use.node][use.port] = true;
      }
    }
  }
  for (const GraphId graph_id : AllGraphs()) {
    for (NodeId id : NodesInOrder(graph_id)) {
      const Node& n = node(id);
      AMP_CHECK(static_cast<size_t>(n.proto->input_size()) == n.inputs.size());
      AMP_CHECK(static_cast<size_t>(n.proto->output_size()) == n.outputs.size());
      for (int i = 0; i < n.proto->input_size(); ++i) {
        const ValueId in = n.inputs[static_cast<size_t>(i)];
        AMP_CHECK(n.proto->input(i) == (in == kNone ? std::string() : value(in).name));
        AMP_CHECK(in == kNone || is_listed[id][static_cast<size_t>(i)]);
      }
      for (int i = 0; i < n.proto->output_size(); ++i) {
        const ValueId out = n.outputs[static_cast<size_t>(i)];
        AMP_CHECK(n.proto->output(i) == (out == kNone ? std::string() : value(out).name));
        AMP_CHECK(out == kNone || value(out).producer == id);
      }
    }
  }
}

}  // namespace amp
