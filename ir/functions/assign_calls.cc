#include "ir/functions/assign_calls.h"

#include <map>
#include <optional>

#include "ir/functions/inline_origins.h"
#include "ir/graph/insert_nodes.h"
#include "ir/operators/operator_facts.h"

namespace amp {
namespace {

int Depth(const InlineOrigins& origins, CallId call) {
  int depth = 0;
  for (; call != kNone; call = origins.calls[call].parent) ++depth;
  return depth;
}

// The innermost call that holds both; kNone for the main graph.
CallId CommonCall(const InlineOrigins& origins, CallId a, CallId b) {
  int depth_a = Depth(origins, a), depth_b = Depth(origins, b);
  const auto up = [&](CallId call) { return origins.calls[call].parent; };
  for (; depth_a > depth_b; --depth_a) a = up(a);
  for (; depth_b > depth_a; --depth_b) b = up(b);
  while (a != b) {
    a = up(a);
    b = up(b);
  }
  return a;
}

CallId CallOfGraph(const Model& model, GraphId graph) {
  const NodeId owner = model.graph(graph).owner;
  return owner == kNone ? kNone : model.node(owner).call;
}

CallId CallOfUse(const Model& model, const Use& use) {
  return use.IsGraphOutput() ? CallOfGraph(model, use.graph) : model.node(use.node).call;
}

// Not outside of the call whose body the node is in.
CallId Within(const Model& model, const InlineOrigins& origins, NodeId node, CallId call) {
  const CallId home = CallOfGraph(model, model.node(node).graph);
  return CommonCall(origins, home, call) == home ? call : home;
}

}  // namespace

std::vector<std::pair<NodeId, NodeId>> AssignCasts(Model& model, const InlineOrigins& origins) {
  std::vector<std::pair<NodeId, NodeId>> splits;
  for (const NodeId id : model.AllNodes()) {  // not those that are inserted here
    const Node& node = model.node(id);
    if (!node.inserted || node.call != kNone || node.outputs.size() != 1 || node.Output(0) == kNone) continue;
    const bool is_constant = node.Has(Role::kConstant) && node.inputs.empty();
    if (!IsCast(node) && !is_constant) {
      model.SetCall(id, CallOfGraph(model, node.graph));
      continue;
    }
    const bool has_source = !is_constant && node.Input(0) != kNone;
    CallId source = kNone;
    if (has_source) {
      const Value& value = model.value(node.Input(0));
      source = value.producer == kNone ? CallOfGraph(model, value.graph) : model.node(value.producer).call;
    }
    std::map<CallId, std::vector<Use>> readers;
    std::optional<CallId> common;  // of all readers
    for (const Use& use : model.value(node.Output(0)).uses) {
      const CallId reader = CallOfUse(model, use);
      common = common.has_value() ? CommonCall(origins, *common, reader) : reader;
      readers[Within(model, origins, id, has_source ? CommonCall(origins, source, reader) : reader)].push_back(use);
    }
    if (readers.empty()) continue;
    if (!has_source) {
      model.SetCall(id, Within(model, origins, id, *common));
      continue;
    }
    const DType type = model.value(node.Output(0)).dtype;
    const GraphId graph = node.graph;
    const ValueId from = node.Input(0), to = node.Output(0);
    model.SetCall(id, readers.begin()->first);  // the outermost keeps the name
    for (auto it = std::next(readers.begin()); it != readers.end(); ++it) {
      const std::string name = model.UniqueName(model.value(to).name);
      const NodeId copy = InsertCast(model, {graph, id}, from, type, {name, name});
      model.CopyType(to, model.node(copy).Output(0));
      model.MoveUses(to, model.node(copy).Output(0), it->second);
      model.SetCall(copy, it->first);
      splits.emplace_back(id, copy);
    }
  }
  return splits;
}

}  // namespace amp
