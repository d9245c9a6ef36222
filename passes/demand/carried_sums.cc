#include "passes/demand/carried_sums.h"

#include <utility>

#include "ir/graph/attributes.h"
#include "ir/graph/constant.h"
#include "ir/graph/shape.h"

namespace amp {
namespace {

// How a value was made of a state: by `last` from `before`, which is kNone for the state itself.
struct Way {
  ValueId state = kNone, before = kNone;
  NodeId last = kNone;
  int nodes = 0;
  bool adds = false, multiplies = false;
};

constexpr double kUnbounded = 0x7fffffff;  // trips of a loop that ends by its condition alone

// Loop: its first operand. Scan: the length of what it scans, along the first axis.
std::optional<double> TripsOf(const Model& model, const Node& node, const Graph& body) {
  if (node.op->control_flow == ControlFlowKind::kLoop) {
    const auto trips = node.Input(0) == kNone ? std::nullopt : ScalarConstant(model, node.Input(0));
    return trips.has_value() && *trips < kUnbounded ? trips : std::nullopt;
  }
  if (HasAttribute(node, "scan_input_axes") || GetInt(node, "num_scan_inputs", 0) == 0) return std::nullopt;
  if (node.inputs.empty() || node.inputs.size() != body.inputs.size()) return std::nullopt;
  const auto shape = ShapeOf(model, node.inputs.back());
  if (!shape.has_value() || shape->empty() || shape->front() < 0) return std::nullopt;
  return static_cast<double>(shape->front());
}

}  // namespace

CarriedSums::CarriedSums(const GuardedGraph& graph) : graph_(graph) {
  const Model& model = graph.model();
  size_t first = 0;  // state of the body at hand
  for (const auto& [left, found] : graph.States()) {
    if (!graph.IsFloat(found)) continue;
    CarriedState state;
    const GraphId body = model.value(found).graph;
    state.loop = model.graph(body).owner;
    state.found = found;
    state.left = left;
    state.trips = TripsOf(model, graph.node(state.loop), model.graph(body));
    if (!states_.empty() && model.value(states_.back().found).graph != body) {
      Follow({states_.data() + first, states_.size() - first});
      first = states_.size();
    }
    by_name_.emplace(found, states_.size());
    states_.push_back(std::move(state));
  }
  if (!states_.empty()) Follow({states_.data() + first, states_.size() - first});
}

const CarriedState* CarriedSums::Find(ValueId found) const {
  const auto it = by_name_.find(found);
  return it == by_name_.end() ? nullptr : &states_[it->second];
}

// An increment that depends on the state does not replace the way by which the state itself is handed on: of several
// operands, the one that was reached without products and by fewer nodes counts.
void CarriedSums::Follow(absl::Span<CarriedState> states) const {
  absl::flat_hash_map<ValueId, Way> ways;
  for (const CarriedState& state : states) ways[state.found].state = state.found;
  for (const NodeId id : graph_.model().NodesInOrder(graph_.model().value(states[0].found).graph)) {
    const Node& node = graph_.node(id);
    const Roles roles = graph_.roles(id);
    const Roles arithmetic = Role::kAdds | Role::kMultiplies | Role::kDivides | Role::kProducts | Role::kBounds;
    if (!node.bodies.empty() || !(graph_.PassesOn(id) || roles.HasAny(arithmetic))) continue;
    const auto rank = [](const Way& way) { return std::make_pair(way.multiplies, way.nodes); };
    std::optional<Way> best;
    for (const ValueId in : node.PresentInputs()) {
      const auto it = ways.find(in);
      if (it == ways.end() || (best.has_value() && rank(*best) <= rank(it->second))) continue;
      best = it->second;
      best->before = in;
    }
    if (!best.has_value()) continue;
    best->last = id;
    ++best->nodes;
    best->adds |= roles.Has(Role::kAdds);
    best->multiplies |= roles.HasAny(Role::kMultiplies | Role::kDivides | Role::kProducts);
    for (const ValueId out : node.PresentOutputs()) ways[out] = *best;
  }
  for (CarriedState& state : states) {
    const auto end = ways.find(state.left);
    if (end == ways.end() || end->second.state != state.found) continue;
    state.adds = end->second.adds;
    state.multiplies = end->second.multiplies;
    for (const Way* way = &end->second; way->last != kNone; way = &ways.at(way->before)) {
      state.way.push_back(way->last);
    }
  }
}

}  // namespace amp
