#include "passes/guard/guarded_graph.h"

#include <algorithm>

#include "ir/base/status.h"
#include "ir/graph/control_flow.h"
#include "ir/operators/operator_facts.h"

namespace amp {

GuardedGraph::GuardedGraph(const Model& model, const VertexGraph& vertices, const IdVector<NodeId, NodeTraits>& traits,
                           const TargetPromises& promises)
    : model_(model),
      vertices_(vertices),
      traits_(traits),
      promises_(promises),
      order_(vertices.order().begin(), vertices.order().end()),
      roles_(model.num_nodes()),
      integers_(model, order_),
      ranges_(model, order_, integers_) {
  for (const ValueId value : model.AllValues()) slots_.push_back(value);
  for (const NodeId id : order_) {
    roles_[id] = RolesOf(model, id);
    if (!node(id).bodies.empty()) JoinBodies(id);
  }
  // A slot is the lowest of its values, so that one pass finds the roots.
  for (ValueId& slot : slots_) slot = slots_[slot];
}

void GuardedGraph::JoinBodies(NodeId id) {
  const std::optional<ControlFlow> flow = DescribeControlFlow(model_, id);
  if (!flow.has_value()) return;
  const auto root = [&](ValueId value) {
    while (slots_[value] != value) value = slots_[value];
    return value;
  };
  const auto join = [&](ValueId from, ValueId to) {
    fed_by_[to].push_back(from);
    const ValueId one = root(from), other = root(to);
    slots_[std::max(one, other)] = std::min(one, other);
  };
  const auto input = [&](const ControlFlow::Join& port) { return model_.graph(port.body).inputs[port.body_port]; };
  for (const ControlFlow::Join& port : flow->inputs) {
    const ValueId from = node(id).inputs[port.node_port];
    if (from == kNone) continue;
    entering_[id].emplace_back(from, input(port));
    fed_by_[input(port)].push_back(from);
  }
  // A body may give what it only captures: that keeps a slot of its own.
  const auto is_own = [&](ValueId value, GraphId body) {
    return model_.value(value).graph == body && !IsConstant(value);
  };
  for (const ControlFlow::Join& port : flow->outputs) {
    const ValueId from = model_.graph(port.body).outputs[port.body_port];
    const ValueId to = node(id).outputs[port.node_port];
    if (to != kNone && is_own(from, port.body)) join(from, to);
  }
  for (const GraphId body : node(id).bodies) {
    const auto& outputs = model_.graph(body).outputs;
    for (size_t port = 0; port < outputs.size(); ++port) {
      const bool is_passed_on =
          std::any_of(flow->outputs.begin(), flow->outputs.end(),
                      [&](const ControlFlow::Join& join) { return join.body == body && join.body_port == port; });
      if (!is_passed_on && !IsFloat(outputs[port])) conditions_.push_back(outputs[port]);
    }
  }
  for (const ControlFlow::State& state : flow->states) {
    const ValueId from = model_.graph(state.body).outputs[state.output];
    const ValueId to = model_.graph(state.body).inputs[state.input];
    if (!is_own(from, state.body)) continue;
    join(from, to);
    if (from != to) states_.emplace_back(from, to);
  }
}

absl::Span<const std::pair<ValueId, ValueId>> GuardedGraph::Entering(NodeId id) const {
  const auto it = entering_.find(id);
  if (it == entering_.end()) return {};
  return it->second;
}

absl::Span<const ValueId> GuardedGraph::FedBy(ValueId value) const {
  const auto it = fed_by_.find(value);
  if (it == fed_by_.end()) return {};
  return it->second;
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
  return IsCast(n) && IsFloat(n.Input(0)) && IsFloat(n.Output(0));
}

bool GuardedGraph::PassesOn(NodeId id) const {
  const bool has_source = !node(id).inputs.empty() && node(id).Input(0) != kNone;  // an empty Optional has none
  return has_source && (roles(id).Has(Role::kMoves) || IsFloatCast(id));
}

ValueId GuardedGraph::Origin(ValueId value) const {
  constexpr int kFarthest = 32;
  NodeId id = Producer(value);
  for (int step = 0; step < kFarthest && id != kNone && PassesOn(id); ++step, id = Producer(value)) {
    value = node(id).Input(0);
  }
  return value;
}

std::string GuardedGraph::Label(NodeId id) const { return Escaped(model_.NodeLabel(id)); }

void VetoList::Add(VertexId vertex, const std::string& why) {
  if (vertex == kNone || taken_[vertex]) return;
  const Vertex& v = graph_.vertices()[vertex];
  if (!v.is_high || traits_[v.node].op_class == OpClass::kDeny) return;
  taken_[vertex] = true;
  vetoes_.push_back({vertex, why});
}

void VetoList::AddProducer(ValueId value, const std::string& why) {
  if (const NodeId id = graph_.Producer(value); id != kNone)
    AddOutput(id, graph_.model().value(value).producer_port, why);
}

void VetoList::AddNode(NodeId node, const std::string& why) {
  for (const VertexId vertex : graph_.vertices().OfNode(node)) Add(vertex, why);
}

}  // namespace amp
