#include "passes/guarded_graph.h"

#include "ir/operator_facts.h"
#include "ir/status.h"

namespace amp {

GuardedGraph::GuardedGraph(const Model& model, const VertexGraph& vertices, const std::vector<NodeTraits>& traits,
                           const TargetPromises& promises, ExternalData* external)
    : model_(model),
      vertices_(vertices),
      traits_(traits),
      promises_(promises),
      external_(external),
      order_(vertices.order().begin(), vertices.order().end()),
      roles_(static_cast<size_t>(model.num_nodes())),
      integers_(model, order_, external) {
  for (const NodeId id : order_) roles_[static_cast<size_t>(id)] = RolesOf(model, id);
}

bool GuardedGraph::IsFloat(ValueId value) const {
  if (value == kNone) return false;
  const Value& v = model_.value(value);
  if (!v.is_tensor) return v.type != nullptr;
  return v.dtype == DType::kFloat32 || IsLowFloat(v.dtype);
}

bool GuardedGraph::IsInteger(ValueId value) const {
  if (value == kNone) return false;
  const Value& v = model_.value(value);
  return v.is_tensor && LargestFinite(v.dtype) == 0 && LargestMagnitude(v.dtype) > 255;
}

bool GuardedGraph::IsFloatCast(NodeId id) const {
  const Node& n = node(id);
  return IsCast(n) && IsFloat(n.inputs[0]) && IsFloat(n.outputs[0]);
}

bool GuardedGraph::PassesOn(NodeId id) const { return roles(id).Has(Role::kMoves) || IsFloatCast(id); }

ValueId GuardedGraph::Origin(ValueId value) const {
  constexpr int kFarthest = 32;
  NodeId id = Producer(value);
  for (int step = 0; step < kFarthest && id != kNone && PassesOn(id); ++step, id = Producer(value)) {
    if (node(id).inputs.empty() || node(id).inputs[0] == kNone) break;
    value = node(id).inputs[0];
  }
  return value;
}

std::string GuardedGraph::Label(NodeId id) const { return Escaped(model_.NodeLabel(id)); }

void VetoList::Add(VertexId vertex, const std::string& why) {
  if (vertex == kNone || taken_[static_cast<size_t>(vertex)]) return;
  const Vertex& v = graph_.vertices()[vertex];
  if (!v.is_high || traits_[static_cast<size_t>(v.node)].op_class == OpClass::kDeny) return;
  taken_[static_cast<size_t>(vertex)] = true;
  vetoes_.push_back({vertex, why});
}

void VetoList::AddProducer(ValueId value, const std::string& why) {
  if (const NodeId id = graph_.Producer(value); id != kNone) AddOutput(id, graph_.model().value(value).producer_port, why);
}

void VetoList::AddNode(NodeId node, const std::string& why) {
  for (const VertexId vertex : graph_.vertices().OfNode(node)) Add(vertex, why);
}

}  // namespace amp
