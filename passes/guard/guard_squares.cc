#include "passes/guard/guard_squares.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"

namespace amp {
namespace {

class SquaresGuard {
 public:
  SquaresGuard(const GuardedGraph& graph, VetoList& vetoes)
      : graph_(graph), vetoes_(vetoes), values_(graph.model().num_values()) {
    const DType low = graph.vertices().low();
    why_ = low == DType::kFloat16 ? absl::StrFormat("squares: summed, and beyond float16 from a magnitude of %.0f on",
                                                    std::sqrt(LargestFinite(low)))
                                  : absl::StrFormat("squares: summed, and %s keeps %.0f bits of them",
                                                    std::string(graph.LowName()), std::log2(CountsExactlyTo(low)));
  }

  void Run() {
    const auto order = graph_.order();
    for (size_t i = order.size(); i-- > 0;) LookAhead(order[i]);
    for (const NodeId id : order) Follow(id);
  }

 private:
  struct Fact {
    bool meets_sum = false;      // goes through additions and moves to a sum, a root or a logarithm
    bool meets_root = false;     // through constants' arithmetic alone to a root or a logarithm
    bool holds_squares = false;  // and meets a sum
    bool is_sum_of_squares = false;
  };

  Fact& at(ValueId value) { return values_[graph_.Slot(value)]; }
  template <typename Predicate>
  bool AnyOutput(const Node& node, Predicate predicate) {
    return std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId out) { return out != kNone && predicate(at(out)); });
  }
  template <typename Predicate>
  bool AnyInput(const Node& node, Predicate predicate) {
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId in) { return graph_.IsFloat(in) && predicate(at(in)); });
  }
  bool HasOneVariable(const Node& node) const {
    return std::count_if(node.inputs.begin(), node.inputs.end(),
                         [&](ValueId in) { return graph_.IsFloat(in) && !graph_.IsConstant(in); }) == 1;
  }

  // Arithmetic with constants that leaves a sum of squares one.
  bool Scales(const Node& node, NodeId id) const {
    const Roles scales = Role::kAdds | Role::kBounds | Role::kMultiplies | Role::kDivides;
    return graph_.PassesOn(id) || (graph_.roles(id).HasAny(scales) && HasOneVariable(node));
  }
  bool IsSum(NodeId id) const { return graph_.roles(id).Has(Role::kSums) && !graph_.IsAllowed(id); }
  bool IsProduct(const Node& node, NodeId id) const {
    return graph_.roles(id).Has(Role::kProducts) && HasOneVariable(node);
  }

  void LookAhead(NodeId id) {
    const Node& node = graph_.node(id);
    for (const auto& [from, to] : graph_.Entering(id)) {
      at(from).meets_sum |= at(to).meets_sum;
      at(from).meets_root |= at(to).meets_root;
    }
    const bool is_root = graph_.roles(id).Has(Role::kLogarithm) || TakesRoot(graph_.model(), id);
    const bool scales = Scales(node, id);
    const bool meets_root = is_root || (scales && AnyOutput(node, [](const Fact& f) { return f.meets_root; }));
    bool meets_sum = is_root || IsSum(id);
    if (scales || graph_.roles(id).Has(Role::kAdds)) {
      meets_sum |= AnyOutput(node, [](const Fact& f) { return f.meets_sum; });
    } else if (IsProduct(node, id)) {
      meets_sum |= AnyOutput(node, [](const Fact& f) { return f.meets_root; });
    }
    for (const ValueId in : node.inputs) {
      if (!graph_.IsFloat(in)) continue;
      at(in).meets_sum |= meets_sum;
      at(in).meets_root |= meets_root;
    }
  }

  void Follow(NodeId id) {
    const Node& node = graph_.node(id);
    for (const auto& [from, to] : graph_.Entering(id)) {
      at(to).holds_squares |= at(from).holds_squares;
      at(to).is_sum_of_squares |= at(from).is_sum_of_squares;
    }
    if (node.outputs.empty() || !graph_.IsFloat(node.Output(0))) return;
    Fact& result = at(node.Output(0));
    const bool is_square = SquaredValue(graph_.model(), id) != kNone;
    const bool gets_squares = AnyInput(node, [](const Fact& f) { return f.holds_squares; });
    if (graph_.roles(id).Has(Role::kSquares) || (gets_squares && IsSum(id)) ||
        (gets_squares && IsProduct(node, id) && result.meets_root)) {
      result.is_sum_of_squares = true;
    } else if (is_square || (gets_squares && (Scales(node, id) || graph_.roles(id).Has(Role::kAdds)))) {
      result.holds_squares = result.meets_sum;
    } else if (Scales(node, id)) {
      result.is_sum_of_squares = AnyInput(node, [](const Fact& f) { return f.is_sum_of_squares; });
      return;  // what follows the sum is the denial's to carry forward
    } else if (graph_.roles(id).Has(Role::kSubtracts)) {
      VetoSquareOfMean(node);
    }
    if (result.holds_squares || result.is_sum_of_squares) vetoes_.AddOutput(id, 0, why_);
  }

  // E[x * x] - m * m: the other operand of the difference.
  void VetoSquareOfMean(const Node& node) {
    if (!AnyInput(node, [](const Fact& f) { return f.is_sum_of_squares; })) return;
    for (const ValueId in : node.inputs) {
      const ValueId square = graph_.Origin(in);
      const NodeId id = graph_.Producer(square);
      const ValueId mean = id == kNone ? kNone : SquaredValue(graph_.model(), id);
      if (mean == kNone) continue;
      vetoes_.AddProducer(square, why_);
      const ValueId sum = graph_.Origin(mean);
      if (graph_.Producer(sum) != kNone && IsSum(graph_.Producer(sum))) vetoes_.AddProducer(sum, why_);
    }
  }

  const GuardedGraph& graph_;
  VetoList& vetoes_;
  IdVector<ValueId, Fact> values_;
  std::string why_;
};

}  // namespace

void GuardSquares(const GuardedGraph& graph, VetoList& vetoes) { SquaresGuard(graph, vetoes).Run(); }

}  // namespace amp
