#include "passes/guard/wide_values.h"

#include <algorithm>
#include <cmath>

namespace amp {
namespace {

// How many products in a row a value is followed through: mel and cosine transform, keys and queries.
constexpr int kMostProducts = 2;

}  // namespace

bool IsProduct(const GuardedGraph& graph, NodeId id) {
  return graph.roles(id).HasAny(Role::kProducts | Role::kConvolution);
}

WideValues::WideValues(const GuardedGraph& graph) : graph_(graph), values_(graph.model().num_values()) {
  for (const NodeId id : graph.order()) Follow(id);
}

void WideValues::Follow(NodeId id) {
  const Node& node = graph_.node(id);
  for (const auto& [from, to] : graph_.Entering(id)) {
    if (!Of(to).IsWide()) values_[graph_.Slot(to)] = Of(from);
  }
  if (!node.bodies.empty() || node.outputs.empty() || !graph_.IsFloat(node.Output(0))) return;
  const WideValue found = Judge(node, id);
  if (!found.IsWide()) return;
  for (const ValueId out : node.outputs) {
    if (graph_.IsFloat(out)) values_[graph_.Slot(out)] = found;
  }
}

WideValue WideValues::Judge(const Node& node, NodeId id) const {
  const Roles roles = graph_.roles(id);
  if (const ValueId squared = SquaredValue(graph_.model(), id); squared != kNone) {
    return OfSquare(id, Of(squared).wideness);
  }
  if (roles.Has(Role::kExponential)) {
    return IsBounded(node.Input(0)) ? WideValue{} : WideValue{Wideness::kExponential, 0, id};
  }
  const WideValue widest = Widest(node);
  if (TakesRoot(graph_.model(), id)) {
    return widest.wideness == Wideness::kPower ? WideValue{Wideness::kMagnitude, 0, id} : WideValue{};
  }
  if (IsProduct(graph_, id)) {
    const bool goes_on = widest.LeavesRange() && widest.products < kMostProducts;
    return goes_on ? WideValue{widest.wideness, widest.products + 1, widest.source} : WideValue{};
  }
  if (roles.Has(Role::kSums)) {
    return widest.wideness == Wideness::kSquare ? OfSumOfSquares(id) : widest.LeavesRange() ? widest : WideValue{};
  }
  if (roles.Has(Role::kAdds)) return OfAddition(node, id, widest);
  const bool divides_it = roles.Has(Role::kDivides) && graph_.IsVariable(node.Input(0));
  const bool scales = divides_it || roles.HasAny(Role::kBounds | Role::kMultiplies);
  if (graph_.PassesOn(id) || (scales && CountVariables(node) == 1)) return widest;
  const bool gates = roles.HasAny(Role::kMultiplies | Role::kRunningSum);
  return gates && widest.LeavesRange() ? widest : WideValue{};
}

WideValue WideValues::OfSquare(NodeId id, Wideness of) const {
  if (of == Wideness::kMagnitude) return {Wideness::kPower, 0, id};
  const Roles roles = graph_.roles(id);
  if (!roles.Has(Role::kSquares)) return {Wideness::kSquare, 0, id};
  const WideValue sum = OfSumOfSquares(id);
  if (!roles.Has(Role::kLength)) return sum;
  return sum.wideness == Wideness::kPower ? WideValue{Wideness::kMagnitude, 0, id} : WideValue{};
}

WideValue WideValues::OfSumOfSquares(NodeId id) const {
  return {SummedElements(graph_.model(), id) == 2 ? Wideness::kPower : Wideness::kEnergy, 0, id};
}

// With a value of another size it is one of those. Two squares are a power.
WideValue WideValues::OfAddition(const Node& node, NodeId id, const WideValue& widest) const {
  const auto is_wide = [&](ValueId in) { return !graph_.IsVariable(in) || Of(in).IsWide(); };
  if (!std::all_of(node.inputs.begin(), node.inputs.end(), is_wide)) return {};
  if (CountVariables(node) <= 1) return widest;
  if (graph_.roles(id).Has(Role::kSubtracts)) return {};
  return widest.wideness == Wideness::kSquare ? WideValue{Wideness::kPower, 0, id} : widest;
}

size_t WideValues::CountVariables(const Node& node) const {
  return static_cast<size_t>(
      std::count_if(node.inputs.begin(), node.inputs.end(), [&](ValueId in) { return graph_.IsVariable(in); }));
}

WideValue WideValues::Widest(const Node& node) const {
  WideValue widest;
  for (const ValueId in : node.inputs) {
    if (graph_.IsVariable(in) && Of(in).wideness > widest.wideness) widest = Of(in);
  }
  return widest;
}

// Whether the exponent is known to be small enough: a learnt constant, or a value less its maximum.
bool WideValues::IsBounded(ValueId exponent) const {
  if (graph_.IsConstant(graph_.Origin(exponent))) return true;
  if (graph_.ranges().Of(exponent).high <= std::log(LargestFinite(graph_.vertices().low()))) return true;
  const NodeId difference = graph_.Producer(graph_.Origin(exponent));
  if (difference == kNone || !graph_.roles(difference).Has(Role::kSubtracts)) return false;
  const Node& node = graph_.node(difference);
  const NodeId maximum = graph_.Producer(graph_.Origin(node.Input(1)));
  return maximum != kNone && graph_.roles(maximum).Has(Role::kTakesMaximum) &&
         graph_.Origin(graph_.node(maximum).Input(0)) == graph_.Origin(node.Input(0));
}

}  // namespace amp
