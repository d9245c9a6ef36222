#include "passes/guard/guard_identifiers.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "ir/operators/operator_facts.h"

namespace amp {
namespace {

class IdentifiersGuard {
 public:
  explicit IdentifiersGuard(const GuardedGraph& graph)
      : graph_(graph),
        from_(graph.model().num_values(), kNone),
        to_(from_.size(), kNone),
        selects_(from_.size(), false) {}

  void Run(VetoList& vetoes) {
    const auto order = graph_.order();
    for (const NodeId id : order) FollowForward(id);
    for (size_t i = order.size(); i-- > 0;) FollowBackward(order[i]);
    for (const NodeId id : order) {
      const auto& outputs = graph_.node(id).outputs;
      for (size_t port = 0; port < outputs.size(); ++port) {
        const ValueId out = outputs[port];
        if (out == kNone || From(out) == kNone || To(out) == kNone) continue;
        vetoes.AddOutput(id, port, Reason(From(out), To(out)));
      }
    }
  }

 private:
  NodeId From(ValueId value) const { return value == kNone ? kNone : from_[graph_.Slot(value)]; }
  NodeId To(ValueId value) const { return value == kNone ? kNone : to_[graph_.Slot(value)]; }
  double Exact() const { return static_cast<double>(CountsExactlyTo(graph_.vertices().low())); }

  // Whether every element given is an element got: the node moves them, rounds whole numbers, or picks them by a
  // product with rows of zeros and a one.
  bool Keeps(NodeId id) const {
    if (graph_.PassesOn(id) || graph_.roles(id).HasAny(Role::kRounds | Role::kBounds)) return true;
    const Node& node = graph_.node(id);
    return graph_.roles(id).Has(Role::kProducts) &&
           std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId in) { return in != kNone && selects_[in]; });
  }

  void FollowForward(NodeId id) {
    const Node& node = graph_.node(id);
    for (const auto& [outer, inner] : graph_.Entering(id)) {
      if (From(inner) == kNone) from_[graph_.Slot(inner)] = From(outer);
    }
    if (!node.bodies.empty()) return;
    NodeId from = kNone;
    bool selects = graph_.roles(id).Has(Role::kSelects);
    if (IsCast(node) && !graph_.IsFloat(node.Input(0))) {
      const bool is_id = graph_.IsInteger(node.Input(0));
      if (is_id && graph_.integers().Of(node.Input(0)) > Exact()) from = id;
      selects = graph_.model().value(node.Input(0)).dtype == DType::kBool;
    } else if (Keeps(id)) {
      for (const ValueId in : node.inputs) {
        if (from == kNone) from = From(in);
      }
      const bool passes_on = graph_.PassesOn(id) && !node.inputs.empty();  // an Optional may have no input
      selects = passes_on && node.Input(0) != kNone && selects_[node.Input(0)];
    }
    for (const ValueId out : node.outputs) {
      if (!graph_.IsFloat(out)) continue;
      from_[graph_.Slot(out)] = from;
      selects_[out] = selects;
    }
  }

  void FollowBackward(NodeId id) {
    const Node& node = graph_.node(id);
    for (const auto& [outer, inner] : graph_.Entering(id)) {
      if (To(outer) == kNone) to_[graph_.Slot(outer)] = To(inner);
    }
    NodeId to = kNone;
    if (IsCast(node) && graph_.IsInteger(node.Output(0))) {
      to = id;
    } else if (Keeps(id)) {
      for (const ValueId out : node.outputs) {
        if (to == kNone) to = To(out);
      }
    }
    if (to == kNone) return;
    for (const ValueId in : node.inputs) {
      if (graph_.IsFloat(in)) to_[graph_.Slot(in)] = to;
    }
  }

  std::string Reason(NodeId from, NodeId to) const {
    const double bound = graph_.integers().Of(graph_.node(from).Input(0));
    return absl::StrFormat("identifiers: integers%s pass from %s to %s, %s is exact to %.0f",
                           std::isfinite(bound) ? absl::StrFormat(" up to %.0f", bound) : "", graph_.Label(from),
                           graph_.Label(to), std::string(graph_.LowName()), Exact());
  }

  const GuardedGraph& graph_;
  IdVector<ValueId, NodeId> from_, to_;  // the casts from integers and to integers between which it lies
  IdVector<ValueId, bool> selects_;      // rows of zeros with a one
};

}  // namespace

void GuardIdentifiers(const GuardedGraph& graph, VetoList& vetoes) { IdentifiersGuard(graph).Run(vetoes); }

}  // namespace amp
