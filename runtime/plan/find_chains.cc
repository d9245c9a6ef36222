#include "runtime/plan/find_chains.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "ir/graph/shape.h"
#include "runtime/loops/chain.h"
#include "runtime/loops/chain_steps.h"

namespace amp {
namespace {

// Whether the shape of `inside`, a value within a chain, may equal the shape of the chain's result. Unknown dimensions
// are taken to be equal only if they have the same symbol.
bool MayHaveOneShape(const Model& model, ValueId inside, ValueId result) {
  const auto dims = ShapeOf(model, inside), of_result = ShapeOf(model, result);
  if (!dims.has_value() || !of_result.has_value() || dims->size() != of_result->size()) return false;
  const std::vector<std::string> names = DimSymbols(model, inside), of_result_names = DimSymbols(model, result);
  for (size_t i = 0; i < dims->size(); ++i) {
    const int64_t dim = (*dims)[i], wanted = (*of_result)[i];
    const bool may_be_one = dim == wanted ? names[i] == of_result_names[i] : dim != 1 && std::min(dim, wanted) < 0;
    if (!may_be_one) return false;
  }
  return true;
}

struct Member {
  NodeId node;
  NodeStep step;
};
using Group = std::vector<Member>;  // a chain under construction; the last node comes first

size_t NumOperands(const Group& group) {
  size_t count = 0;
  for (const Member& member : group) count += member.step.operands.size();
  return count;
}

class ChainFinder {
 public:
  ChainFinder(const Model& model, const std::vector<const KernelRow*>& rows, FusedNodes& taken)
      : model_(model), rows_(rows), taken_(taken), group_of_(model.num_nodes()) {}

  void Find(std::vector<Fusion>& fusions) {
    for (const GraphId graph : model_.AllGraphs()) {
      std::vector<NodeId> nodes;
      for (const NodeId id : model_.NodesInOrder(graph)) nodes.push_back(id);
      std::for_each(nodes.rbegin(), nodes.rend(), [&](NodeId id) { Place(id); });
    }
    for (const Group& group : groups_) {
      if (group.size() > 1) fusions.push_back(FusionOf(group));
    }
  }

 private:
  void Place(NodeId id) {
    if (taken_[id]) return;
    std::optional<NodeStep> step = StepOfNode(model_, id);
    if (!step.has_value()) return;
    std::optional<size_t> group = GroupOfReaders(id, step->operands.size());
    if (!group.has_value()) {
      group = groups_.size();
      groups_.emplace_back();
    }
    groups_[*group].push_back({id, *std::move(step)});
    group_of_[id] = group;
  }

  // Returns the group that all readers of the node's result are in, if the node may join it.
  std::optional<size_t> GroupOfReaders(NodeId id, size_t num_operands) const {
    const ValueId result = model_.node(id).Output(0);
    const auto& uses = model_.value(result).uses;
    if (uses.empty() || uses[0].IsGraphOutput()) return std::nullopt;
    const std::optional<size_t> group = group_of_[uses[0].node];
    if (!group.has_value()) return std::nullopt;
    const auto is_inside = [&](const Use& use) { return !use.IsGraphOutput() && group_of_[use.node] == group; };
    if (!std::all_of(uses.begin(), uses.end(), is_inside)) return std::nullopt;
    const Group& members = groups_[*group];
    const Node& last = model_.node(members[0].node);
    const bool has_room =
        members.size() < kMostChainSteps && NumOperands(members) + num_operands < kMostChainInputs + members.size();
    const bool fits =
        has_room && last.graph == model_.node(id).graph && MayHaveOneShape(model_, result, last.Output(0));
    return fits ? group : std::nullopt;
  }

  Fusion FusionOf(const Group& group) {
    auto chain = std::make_unique<Chain>();
    Fusion fusion{.nodes = {}, .result = model_.node(group[0].node).Output(0)};
    absl::flat_hash_map<ValueId, size_t> step_of;
    std::for_each(group.rbegin(), group.rend(), [&](const Member& member) {
      fusion.nodes.push_back(member.node);
      step_of[model_.node(member.node).Output(0)] = step_of.size();
    });
    std::for_each(group.rbegin(), group.rend(), [&](const Member& member) {
      for (const ValueId operand : member.step.operands) {
        const auto& inputs = fusion.operands;
        if (step_of.contains(operand) || std::find(inputs.begin(), inputs.end(), operand) != inputs.end()) continue;
        fusion.operands.push_back(operand);
        chain->inputs.push_back(model_.value(operand).dtype);
      }
    });
    std::for_each(group.rbegin(), group.rend(), [&](const Member& member) {
      ChainStep& step = chain->steps.emplace_back(member.step.step);
      for (const ValueId operand : member.step.operands) {
        const auto inner = step_of.find(operand);
        const auto& inputs = fusion.operands;
        const auto input = std::find(inputs.begin(), inputs.end(), operand) - inputs.begin();
        step.operands.push_back(inner != step_of.end() ? inputs.size() + inner->second : static_cast<size_t>(input));
      }
      taken_[member.node] = true;
    });
    AssignBuffers(*chain);
    fusion.rows = rows_;
    fusion.form = std::move(chain);
    return fusion;
  }

  const Model& model_;
  const std::vector<const KernelRow*>& rows_;
  FusedNodes& taken_;
  IdVector<NodeId, std::optional<size_t>> group_of_;
  std::vector<Group> groups_;
};

}  // namespace

void FindChains(const Model& model, const std::vector<const KernelRow*>& rows, FusedNodes& taken,
                std::vector<Fusion>& fusions) {
  ChainFinder(model, rows, taken).Find(fusions);
}

}  // namespace amp
