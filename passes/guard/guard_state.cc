#include "passes/guard/guard_state.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_format.h"
#include "ir/base/status.h"
#include "ir/graph/shape.h"
#include "ir/operators/operator_facts.h"

namespace amp {
namespace {

class StateGuard {
 public:
  StateGuard(const GuardedGraph& graph, VetoList& vetoes)
      : graph_(graph), vetoes_(vetoes), meets_allowed_(graph.model().num_values(), false) {}

  void Run() {
    const auto order = graph_.order();
    for (size_t i = order.size(); i-- > 0;) LookAhead(order[i]);
    for (const NodeId id : order) VetoStatistics(id);
    for (const ValueId out : graph_.model().graph(kMainGraph).outputs) VetoSteps(out, kNone);
    for (const auto& [left, found] : graph_.States()) VetoSteps(left, found);
  }

 private:
  // From `next` back to an input of its shape, or, in a body, to the state that the round found.
  void VetoSteps(ValueId next, ValueId state) {
    if (!graph_.IsFloat(next)) return;
    shape_ = ShapeOf(graph_.model(), next);
    wanted_ = state;
    reaches_.clear();
    path_.clear();
    budget_ = {};
    if ((state == kNone && !shape_.has_value()) || !ReachesState(next) || budget_.IsOverdrawn()) return;
    const std::string why =
        absl::StrFormat("state: on the way from '%s' to '%s', which a step smaller than a rounding would not move",
                        Escaped(graph_.model().value(state_).name), Escaped(graph_.model().value(next).name));
    for (const NodeId id : path_) vetoes_.AddNode(id, why);
  }

  void LookAhead(NodeId id) {
    const Node& node = graph_.node(id);
    is_training_ |= IsLoss(node);
    const bool meets = graph_.IsAllowed(id) || std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId out) {
                         return out != kNone && meets_allowed_[out];
                       });
    if (!meets) return;
    for (const ValueId in : node.PresentInputs()) meets_allowed_[in] = true;
  }

  void VetoStatistics(NodeId id) {
    if (!graph_.roles(id).Has(Role::kTracksStatistics)) return;
    for (size_t port = 1; port < graph_.node(id).outputs.size(); ++port) {
      vetoes_.AddOutput(id, port, "state: running statistics");
    }
  }

  bool IsState(ValueId value) const {
    const Value& v = graph_.model().value(value);
    if (wanted_ != kNone) return value == wanted_ && !meets_allowed_[value];
    const bool is_fed = v.producer == kNone && v.graph == kMainGraph && !graph_.IsConstant(value);
    const bool is_data = meets_allowed_[value] && !is_training_;
    return is_fed && !is_data && ShapeOf(graph_.model(), value) == shape_;
  }

  // A constant, or one number that the caller gives.
  bool IsRate(ValueId value) const {
    if (graph_.IsConstant(value)) return true;
    return graph_.Producer(value) == kNone && NumElements(graph_.model(), value) == 1;
  }

  // How a state is used by the step to the next one.
  bool Steps(const Node& node, NodeId id, size_t port) const {
    const Roles roles = graph_.roles(id);
    if (roles.Has(Role::kAdds)) return true;
    return roles.HasAny(Role::kMultiplies | Role::kDivides) && node.inputs.size() == 2 && IsRate(node.inputs[1 - port]);
  }

  bool ReachesState(ValueId value) {
    const NodeId id = graph_.Producer(value);
    if (id == kNone || graph_.IsAllowed(id)) return false;
    const auto [known, is_new] = reaches_.try_emplace(value, false);
    if (!is_new) return known->second;
    const Roles arithmetic = Role::kAdds | Role::kMultiplies | Role::kDivides | Role::kNegates | Role::kBounds |
                             Role::kRoots | Role::kInverts;
    const bool is_identity = graph_.roles(id).Has(Role::kPointwise) && graph_.roles(id).Has(Role::kMoves);
    if (!graph_.roles(id).HasAny(arithmetic) && !is_identity && !graph_.IsFloatCast(id)) return false;
    const Node& node = graph_.node(id);
    if (!budget_.Spend(node.inputs.size())) return false;
    bool found = false;
    for (size_t port = 0; port < node.inputs.size(); ++port) {
      const ValueId in = node.inputs[port];
      if (!graph_.IsFloat(in)) continue;
      const bool is_state = IsState(in) && Steps(node, id, port);
      if (is_state) state_ = in;
      if (is_state || ReachesState(in)) found = true;
    }
    if (found) path_.push_back(id);
    return reaches_[value] = found;
  }

  const GuardedGraph& graph_;
  VetoList& vetoes_;
  IdVector<ValueId, bool> meets_allowed_;  // an allowed operator reads it, or what is computed from it
  bool is_training_ = false;
  std::optional<std::vector<int64_t>> shape_;
  SearchBudget budget_;
  absl::flat_hash_map<ValueId, bool> reaches_;  // values looked at for one output: whether a state is behind them
  ValueId state_ = kNone;
  ValueId wanted_ = kNone;  // in a body: the state
  std::vector<NodeId> path_;
};

}  // namespace

void GuardState(const GuardedGraph& graph, VetoList& vetoes) { StateGuard(graph, vetoes).Run(); }

}  // namespace amp
