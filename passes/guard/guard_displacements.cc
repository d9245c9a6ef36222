#include "passes/guard/guard_displacements.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_format.h"
#include "ir/graph/constant.h"
#include "ir/operators/operator_facts.h"

namespace amp {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 18;
constexpr double kLeastSteps = 64;  // that a low number of a grid's size has to have for a fraction of 1

class DisplacementsGuard {
 public:
  DisplacementsGuard(const GuardedGraph& graph, VetoList& vetoes)
      : graph_(graph),
        vetoes_(vetoes),
        exact_(static_cast<double>(CountsExactlyTo(graph.vertices().low()))),
        values_(graph.model().num_values()) {}

  void Run() {
    const auto order = graph_.order();
    for (const NodeId id : order) Follow(id);
    for (size_t i = order.size(); i-- > 0;) LookAhead(order[i]);
    for (const NodeId id : order) Veto(id);
  }

 private:
  enum class Kind : uint8_t { kOther, kGrid, kDisplaced };  // a grid and something added
  struct Fact {
    Kind kind = Kind::kOther;
    double bound = 0;          // of the grid
    NodeId taken_off = kNone;  // where the grid is subtracted again
  };

  Fact& at(ValueId value) { return values_[graph_.Slot(value)]; }
  Fact Of(ValueId value) {
    if (!graph_.IsFloat(value)) return {};
    return graph_.IsConstant(value) ? OfConstant(value) : at(value);
  }

  // Several whole numbers or halves: a grid.
  Fact OfConstant(ValueId value) {
    const auto [known, is_new] = constants_.try_emplace(value);
    if (!is_new) return known->second;
    const auto elements = ConstantElements(graph_.model(), value, kMostElements);
    if (!elements.has_value() || elements->size() < 2) return {};
    double bound = 0;
    for (const double element : *elements) {
      if (element * 2 != std::floor(element * 2)) return {};
      bound = std::max(bound, std::abs(element));
    }
    return known->second = {Kind::kGrid, bound};
  }

  // ---- forward: grids, and what was added to them

  void Follow(NodeId id) {
    const Node& node = graph_.node(id);
    for (const auto& [from, to] : graph_.Entering(id)) {
      if (const Fact entering = Of(from); entering.kind > at(to).kind) at(to) = entering;
    }
    if (!node.bodies.empty() || node.outputs.empty() || !graph_.IsFloat(node.Output(0))) return;
    const Fact found = Judge(node, id);
    if (found.kind == Kind::kOther) return;
    for (const ValueId out : node.outputs) {
      if (graph_.IsFloat(out)) at(out) = found;
    }
  }

  Fact Judge(const Node& node, NodeId id) {
    const Roles roles = graph_.roles(id);
    const bool counts = (IsCast(node) && graph_.IsInteger(node.Input(0))) || roles.Has(Role::kCounts);
    if (counts) return {Kind::kGrid, Bound(node.Output(0))};
    const Roles arithmetic = Role::kAdds | Role::kMultiplies | Role::kDivides | Role::kNegates | Role::kBounds |
                             Role::kRounds | Role::kRunningSum;
    if (graph_.IsAllowed(id) || !(graph_.PassesOn(id) || roles.HasAny(arithmetic))) return {};
    if (TakesOff(node, id)) return {};
    Fact all{Kind::kGrid, 0};
    bool has_grid = false, has_data = false;
    for (const ValueId in : node.inputs) {
      if (!graph_.IsFloat(in)) continue;
      // Constants are read for sums alone: elsewhere they only scale and bound.
      const bool is_constant = graph_.IsConstant(in);
      if (is_constant && !(roles.Has(Role::kAdds) || graph_.PassesOn(id))) continue;
      const Fact one = Of(in);
      has_grid |= one.kind != Kind::kOther;
      has_data |= one.kind == Kind::kOther && !is_constant;
      all.kind = std::max(all.kind, one.kind);
      all.bound = std::max(all.bound, one.bound);
    }
    if (!has_grid) return {};
    if (all.kind == Kind::kGrid && !has_data) return {Kind::kGrid, Bound(node.Output(0), all.bound)};
    if (has_data && !roles.Has(Role::kAdds)) return {};  // a factor, or joined to other things
    const bool loses_fractions = all.bound * kLeastSteps > exact_;
    return loses_fractions ? Fact{Kind::kDisplaced, all.bound} : Fact{};
  }

  // Returns a bound of the grid's magnitude; `otherwise` if none is known.
  double Bound(ValueId grid, double otherwise = std::numeric_limits<double>::infinity()) const {
    const Interval range = graph_.ranges().Of(grid);
    return IsBounded(range) ? LargestMagnitude(range) : otherwise;
  }

  // The difference of a displaced grid and a grid, displaced or not.
  bool TakesOff(const Node& node, NodeId id) {
    if (!graph_.roles(id).Has(Role::kSubtracts)) return false;
    const Kind from = Of(node.Input(0)).kind, what = Of(node.Input(1)).kind;
    return std::min(from, what) != Kind::kOther && std::max(from, what) == Kind::kDisplaced;
  }

  // ---- backward: what lies in between

  void LookAhead(NodeId id) {
    const Node& node = graph_.node(id);
    for (const auto& [from, to] : graph_.Entering(id)) {
      if (Of(from).kind != Kind::kOther && !graph_.IsConstant(from)) TakeOff(from, at(to).taken_off);
    }
    if (!node.bodies.empty()) return;
    NodeId taken_off = TakesOff(node, id) ? id : kNone;
    for (const ValueId out : node.PresentOutputs()) {
      if (taken_off == kNone && at(out).kind == Kind::kDisplaced) taken_off = at(out).taken_off;
    }
    if (taken_off == kNone) return;
    for (const ValueId in : node.PresentInputs()) {
      if (graph_.IsVariable(in)) TakeOff(in, taken_off);
    }
  }

  // Among grids that stand alone, only those that are not exact in the low type count.
  void TakeOff(ValueId value, NodeId where) {
    Fact& fact = at(value);
    const bool matters = fact.kind == Kind::kDisplaced || (fact.kind == Kind::kGrid && fact.bound > exact_);
    if (matters && fact.taken_off == kNone) fact.taken_off = where;
  }

  void Veto(NodeId id) {
    const Node& node = graph_.node(id);
    if (!node.bodies.empty()) return;
    if (TakesOff(node, id)) vetoes_.AddNode(id, Reason(id, std::max(Of(node.Input(0)).bound, Of(node.Input(1)).bound)));
    for (size_t port = 0; port < node.outputs.size(); ++port) {
      const ValueId out = node.outputs[port];
      if (out == kNone || at(out).taken_off == kNone) continue;
      vetoes_.AddOutput(id, port, Reason(at(out).taken_off, at(out).bound));
    }
  }

  std::string Reason(NodeId taken_off, double bound) const {
    const std::string extent = std::isfinite(bound) ? absl::StrFormat("up to %g", bound) : "of unknown extent";
    return absl::StrFormat("displacements: added to positions %s that %s takes off again", extent,
                           graph_.Label(taken_off));
  }

  const GuardedGraph& graph_;
  VetoList& vetoes_;
  const double exact_;
  IdVector<ValueId, Fact> values_;
  absl::flat_hash_map<ValueId, Fact> constants_;
};

}  // namespace

void GuardDisplacements(const GuardedGraph& graph, VetoList& vetoes) { DisplacementsGuard(graph, vetoes).Run(); }

}  // namespace amp
