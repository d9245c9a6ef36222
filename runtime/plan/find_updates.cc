#include "runtime/plan/find_updates.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ir/graph/attributes.h"

namespace amp {
namespace {

bool IsGivenBackAlone(const Model& model, ValueId value) {
  const auto& uses = model.value(value).uses;
  return value != kNone && std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
           return use.IsGraphOutput() && use.graph == model.value(value).graph;
         });
}

// Whether the node has all inputs and outputs that the operator can have, and its outputs are read by nobody else.
bool MayJoin(const Model& model, const FusedOptimizer& fused, const Node& node) {
  return node.inputs.size() == fused.num_inputs && node.outputs.size() == fused.num_outputs &&
         std::none_of(node.inputs.begin(), node.inputs.end(), [](ValueId input) { return input == kNone; }) &&
         std::all_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId output) { return IsGivenBackAlone(model, output); });
}

// Returns a key that is equal for nodes that may join one fused pattern, which one launch computes.
std::string KeyOf(const FusedOptimizer& fused, const Node& node) {
  std::string key = absl::StrCat(node.op_type(), " ", node.graph.index());
  if (fused.is_conditional) absl::StrAppend(&key, " ", node.inputs[0].index());
  for (size_t port = fused.first_rate; port < node.inputs.size(); ++port) {
    absl::StrAppend(&key, " ", node.inputs[port].index());
  }
  for (const char* const name : fused.attributes) {
    const std::optional<float> value = name == nullptr ? std::nullopt : GetFloat(node, name);
    absl::StrAppend(&key, " ", value.has_value() ? absl::StrFormat("%a", *value) : "none");
  }
  return key;
}

Fusion FusedOf(const Model& model, const FusedOptimizer& fused, std::vector<NodeId> nodes) {
  Fusion fusion{.nodes = std::move(nodes), .rows = {&fused.row}};
  for (const NodeId id : fusion.nodes) {
    const Node& node = model.node(id);
    fusion.operands.insert(fusion.operands.end(), node.inputs.begin(), node.inputs.end());
    fusion.results.insert(fusion.results.end(), node.outputs.begin(), node.outputs.end());
  }
  return fusion;
}

}  // namespace

void FindUpdates(const Model& model, FindFusedUpdate find_fused, FusedNodes& taken, std::vector<Fusion>& fusions) {
  struct Group {
    const FusedOptimizer* fused = nullptr;
    std::vector<NodeId> nodes;
  };
  std::map<std::string, Group> groups;
  for (const GraphId graph : model.AllGraphs()) {
    for (const NodeId id : model.NodesInOrder(graph)) {
      const Node& node = model.node(id);
      const FusedOptimizer* const fused = taken[id] ? nullptr : find_fused(node.domain(), node.op_type());
      if (fused == nullptr || !MayJoin(model, *fused, node)) continue;
      Group& group = groups[KeyOf(*fused, node)];
      group.fused = fused;
      group.nodes.push_back(id);
    }
  }
  for (auto& [unused, group] : groups) {
    if (group.nodes.size() < 2) continue;
    for (const NodeId id : group.nodes) taken[id] = true;
    fusions.push_back(FusedOf(model, *group.fused, std::move(group.nodes)));
  }
}

}  // namespace amp
