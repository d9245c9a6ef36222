#include "passes/guard/guard_log_sum_exp.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "ir/patterns/pattern_search.h"
#include "ir/patterns/softmax_pattern.h"

namespace amp {
namespace {

// From a node of role kExponential on, by formula or not.
class Island {
 public:
  Island(const GuardedGraph& graph, NodeId exponential) : graph_(graph), exponential_(exponential) {}

  bool Find() {
    const Node& node = graph_.node(exponential_);
    if (node.outputs.empty() || !graph_.IsFloat(node.Output(0))) return false;
    nodes_.push_back(exponential_);
    ReachesEnd(node.Output(0), false);
    if (end_ == kNone || budget_.IsOverdrawn()) return false;
    AddShift(graph_.Origin(node.Input(0)));
    return true;
  }

  void Veto(VetoList& vetoes) {
    const std::string why =
        absl::StrFormat("log-sum-exp by hand: inside the sum of exponentials that ends in %s", graph_.Label(end_));
    for (const NodeId id : nodes_) vetoes.AddNode(id, why);
  }

 private:
  // The difference that is the exponent, and its maximum.
  void AddShift(ValueId exponent) {
    const NodeId difference = graph_.Producer(exponent);
    if (difference == kNone || !graph_.roles(difference).Has(Role::kSubtracts)) return;
    nodes_.push_back(difference);
    const NodeId maximum = graph_.Producer(graph_.Origin(graph_.node(difference).Input(1)));
    if (maximum != kNone && graph_.roles(maximum).Has(Role::kTakesMaximum)) nodes_.push_back(maximum);
  }

  bool ReachesEnd(ValueId value, bool is_summed) {
    const auto& uses = graph_.model().value(value).uses;
    if (!budget_.Spend(uses.size())) return false;
    bool found = false;
    for (const Use& use : uses) {
      if (use.IsGraphOutput()) continue;
      const Roles roles = graph_.roles(use.node);
      const Node& node = graph_.node(use.node);
      if (!budget_.Spend(node.outputs.size())) return false;
      const bool is_sum = !is_summed && roles.Has(Role::kSums) && !graph_.IsAllowed(use.node);
      const bool is_shifted = is_summed && roles.Has(Role::kAdds);  // by an epsilon
      bool joins = false;
      if (is_summed && (roles.Has(Role::kLogarithm) || IsShare(node, roles, use.port))) {
        end_ = use.node;
        joins = true;
      } else if (is_sum || is_shifted || graph_.PassesOn(use.node)) {
        for (const ValueId out : node.outputs) joins |= graph_.IsFloat(out) && ReachesEnd(out, is_summed || is_sum);
      }
      if (joins) nodes_.push_back(use.node);
      found |= joins;
    }
    return found;
  }

  // The exponentials divided by their sum.
  bool IsShare(const Node& node, Roles roles, size_t port) const {
    return roles.Has(Role::kDivides) && port == 1 && graph_.Producer(graph_.Origin(node.Input(0))) == exponential_;
  }

  const GuardedGraph& graph_;
  const NodeId exponential_;
  NodeId end_ = kNone;
  SearchBudget budget_;
  std::vector<NodeId> nodes_;
};

std::string DescribeSum(const GuardedGraph& graph, const SumOfExponentials& sum, NodeId end) {
  return absl::StrFormat("log-sum-exp by hand: inside the sum of exponentials of '%s' over axes %s that ends in %s",
                         Escaped(graph.model().value(sum.x).name), absl::StrJoin(sum.axes, ", "), graph.Label(end));
}

}  // namespace

void GuardLogSumExp(const GuardedGraph& graph, VetoList& vetoes) {
  for (const NodeId id : graph.order()) {
    PatternSearch search(graph.model());
    const FoundSum found = FindSumOfExponentials(id, search);
    if (!found.sum) continue;
    const std::string why = DescribeSum(graph, *found.sum, id);
    for (const NodeId inside : search.joined()) vetoes.AddNode(inside, why);
  }
  for (const NodeId id : graph.order()) {
    if (!graph.roles(id).Has(Role::kExponential)) continue;
    if (Island island(graph, id); island.Find()) island.Veto(vetoes);
  }
}

}  // namespace amp
