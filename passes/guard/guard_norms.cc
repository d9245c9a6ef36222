#include "passes/guard/guard_norms.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "ir/patterns/norm_pattern.h"
#include "ir/patterns/pattern_search.h"

namespace amp {
namespace {

// The nodes around one root, whether a formula was recognised or not.
class Island {
 public:
  Island(const GuardedGraph& graph, NodeId root) : graph_(graph), root_(root) {}

  bool Find() {
    const Node& root = graph_.node(root_);
    if (root.inputs.empty() || root.Input(0) == kNone || root.Output(0) == kNone) return false;
    nodes_.push_back(root_);
    if (graph_.roles(root_).Has(Role::kSquares)) {
      AddSquared(root.Input(0));
    } else if (!ReachesSquare(root.Input(0))) {
      return false;
    }
    ReachesDivision(root.Output(0));
    return end_ != kNone && !budget_.IsOverdrawn();
  }

  void Veto(VetoList& vetoes) {
    const std::string why = absl::StrFormat("decomposed norms: inside the norm that ends in %s", graph_.Label(end_));
    for (const NodeId id : nodes_) vetoes.AddNode(id, why);
  }

 private:
  enum class Way { kBack, kOn };  // to what is squared, and on to the division

  bool IsConstantOrNot(ValueId in) const { return in != kNone && (graph_.IsConstant(in) || !graph_.IsFloat(in)); }
  bool HasOneVariable(const Node& node) const {
    return std::count_if(node.inputs.begin(), node.inputs.end(),
                         [&](ValueId in) { return in != kNone && !IsConstantOrNot(in); }) == 1;
  }
  // Whether to look at `count` operands or readers of a value, for the first time; else `*known` is what was found.
  bool IsNew(std::pair<Way, ValueId> key, size_t count, bool* known) {
    const auto [it, is_new] = reaches_.try_emplace(key, false);
    *known = it->second;
    return is_new && budget_.Spend(count);
  }

  // Returns the value that was squared, or the one whose difference from its mean was.
  void AddSquared(ValueId value) {
    value = graph_.Origin(value);
    squared_.push_back(value);
    const NodeId id = graph_.Producer(value);
    if (id == kNone || !graph_.roles(id).Has(Role::kSubtracts)) return;
    squared_.push_back(graph_.Origin(graph_.node(id).Input(0)));
    nodes_.push_back(id);
    AddMean(graph_.node(id).Input(1));
  }

  // The sum that gives `value`, with what moves it or divides it by a constant on the way.
  void AddMean(ValueId value) {
    std::vector<NodeId> way;
    for (NodeId id = graph_.Producer(value); id != kNone; id = graph_.Producer(value)) {
      const Node& node = graph_.node(id);
      if (!budget_.Spend(node.inputs.size())) return;
      way.push_back(id);
      const Roles roles = graph_.roles(id);
      if (roles.Has(Role::kSums)) {
        nodes_.insert(nodes_.end(), way.begin(), way.end());
        return;
      }
      const bool is_factor = roles.HasAny(Role::kMultiplies | Role::kDivides) && HasOneVariable(node);
      if (!is_factor && !graph_.PassesOn(id)) return;
      value = is_factor && IsConstantOrNot(node.Input(0)) ? node.Input(1) : node.Input(0);
    }
  }

  // Backward, through sums and the arithmetic around them. Nodes on the way join the island.
  bool ReachesSquare(ValueId value) {
    const NodeId id = graph_.Producer(value);
    if (id == kNone) return false;
    const Node& node = graph_.node(id);
    bool found = false;
    if (!IsNew({Way::kBack, value}, node.inputs.size(), &found)) return found;
    if (const ValueId squared = SquaredValue(graph_.model(), id); squared != kNone) {
      nodes_.push_back(id);
      AddSquared(squared);
      return reaches_[{Way::kBack, value}] = true;
    }
    const Roles roles = graph_.roles(id);
    const Roles through = Role::kAdds | Role::kBounds | Role::kSums;
    const Roles with_constant = Role::kMultiplies | Role::kDivides | Role::kProducts;
    const bool goes_on =
        graph_.PassesOn(id) || roles.HasAny(through) || (roles.HasAny(with_constant) && HasOneVariable(node));
    if (!goes_on) return false;
    for (const ValueId in : node.PresentInputs()) {
      if (!IsConstantOrNot(in)) found |= ReachesSquare(in);
    }
    if (found) nodes_.push_back(id);
    return reaches_[{Way::kBack, value}] = found;
  }

  bool IsSquared(ValueId value) const {
    value = graph_.Origin(value);
    const auto is_one = [&](ValueId v) { return std::find(squared_.begin(), squared_.end(), v) != squared_.end(); };
    const NodeId id = graph_.Producer(value);
    const bool is_difference = id != kNone && graph_.roles(id).Has(Role::kSubtracts);
    return is_one(value) || (is_difference && is_one(graph_.Origin(graph_.node(id).Input(0))));
  }

  // Forward, to a division of what was squared, or a product with its inverse.
  bool ReachesDivision(ValueId value) {
    const auto& uses = graph_.model().value(value).uses;
    bool found = false;
    if (!IsNew({Way::kOn, value}, uses.size(), &found)) return found;
    for (const Use& use : uses) {
      if (use.IsGraphOutput()) continue;
      if (!budget_.Spend(graph_.node(use.node).inputs.size())) return false;
      const NodeId id = use.node;
      const Node& node = graph_.node(id);
      const Roles roles = graph_.roles(id);
      bool joins = false;
      if (roles.HasAny(Role::kMultiplies | Role::kDivides) && node.inputs.size() == 2 && !HasOneVariable(node)) {
        const ValueId divided = node.inputs[use.port == 0 ? 1 : 0];
        joins = IsSquared(divided);
        if (joins) {
          end_ = id;
          AddSquared(divided);
        }
      } else {
        const Roles through = Role::kAdds | Role::kBounds | Role::kMultiplies | Role::kDivides | Role::kInverts;
        const bool goes_on = graph_.PassesOn(id) || (roles.HasAny(through) && HasOneVariable(node));
        if (goes_on && node.Output(0) != kNone) joins = ReachesDivision(node.Output(0));
      }
      if (joins) nodes_.push_back(id);
      found |= joins;
    }
    return reaches_[{Way::kOn, value}] = found;
  }

  const GuardedGraph& graph_;
  const NodeId root_;
  NodeId end_ = kNone;
  SearchBudget budget_;
  absl::flat_hash_map<std::pair<Way, ValueId>, bool> reaches_;
  std::vector<NodeId> nodes_;
  std::vector<ValueId> squared_;
};

std::string DescribeNorm(const GuardedGraph& graph, const Normalisation& norm, NodeId end) {
  return absl::StrFormat("decomposed norms: inside the %s of '%s' over axes %s, epsilon %g, that ends in %s",
                         norm.is_centred ? "LayerNorm" : "RMSNorm", Escaped(graph.model().value(norm.x).name),
                         absl::StrJoin(norm.axes, ", "), norm.epsilon, graph.Label(end));
}

}  // namespace

void GuardNorms(const GuardedGraph& graph, VetoList& vetoes) {
  for (const NodeId id : graph.order()) {
    PatternSearch search(graph.model());
    const FoundNormalisation found = FindNormalisation(id, search);
    if (!found.normalisation) continue;
    const std::string why = DescribeNorm(graph, *found.normalisation, id);
    for (const NodeId inside : search.joined()) vetoes.AddNode(inside, why);
  }
  for (const NodeId id : graph.order()) {
    const bool is_root = TakesRoot(graph.model(), id) || graph.roles(id).Has(Role::kSquares);
    if (!is_root) continue;
    if (Island island(graph, id); island.Find()) island.Veto(vetoes);
  }
}

}  // namespace amp
