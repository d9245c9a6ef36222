// The input of structural guards: the model with the role and class of every node, and the list of their vetoes.
//
// Guards judge the unpainted graph: values, producers and readers as the file has them, whatever the types, in all
// scopes. A node of class allow is where the walk of nearly every guard ends: behind it values are 16-bit for a good
// reason.
#ifndef AMP_PASSES_GUARD_GUARDED_GRAPH_H_
#define AMP_PASSES_GUARD_GUARDED_GRAPH_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "ir/operators/integer_bounds.h"
#include "ir/operators/operator_roles.h"
#include "ir/operators/value_ranges.h"
#include "passes/classify/classify_nodes.h"
#include "passes/paint/paint_graph.h"

namespace amp {

class GuardedGraph {
 public:
  // Linear in nodes and uses. All references must outlive this object.
  GuardedGraph(const Model& model, const VertexGraph& vertices, const IdVector<NodeId, NodeTraits>& traits,
               const TargetPromises& promises);

  const Model& model() const { return model_; }
  const VertexGraph& vertices() const { return vertices_; }
  const TargetPromises& promises() const { return promises_; }
  const IntegerBounds& integers() const { return integers_; }
  const ValueRanges& ranges() const { return ranges_; }
  // The nodes of all scopes, as in VertexGraph::order().
  absl::Span<const NodeId> order() const { return order_; }

  const Node& node(NodeId id) const { return model_.node(id); }
  Roles roles(NodeId id) const { return roles_[id]; }
  bool IsAllowed(NodeId id) const { return OpClassOf(id) == OpClass::kAllow; }
  // Whether the class is infer or clear, so that the neighbours decide.
  bool IsUndecided(NodeId id) const { return OpClassOf(id) == OpClass::kInfer || OpClassOf(id) == OpClass::kClear; }
  bool IsClear(NodeId id) const { return OpClassOf(id) == OpClass::kClear; }
  // Gives on what it gets: moves elements, or casts from float to float.
  bool PassesOn(NodeId id) const;
  bool IsFloatCast(NodeId id) const;

  // False for readers of shapes alone.
  bool ReadsElements(const Use& use) const { return use.IsGraphOutput() || !roles(use.node).Has(Role::kReadsShape); }

  bool IsConstant(ValueId value) const { return model_.IsConstant(value); }
  // Whether the value is a float of at most 32 bits, or a sequence or optional of any type.
  bool IsFloat(ValueId value) const;
  bool IsVariable(ValueId value) const { return IsFloat(value) && !IsConstant(value); }
  // Integers of more than 8 bits: counts and indices.
  bool IsInteger(ValueId value) const;
  // One name for the values that control flow joins: what a body gives and what its node gives, the state that one
  // round leaves and the next one finds. Guards that keep a fact per value index it by this.
  ValueId Slot(ValueId value) const { return slots_[value]; }
  // Values that enter the bodies of a node: what the node reads, and what the body calls it.
  absl::Span<const std::pair<ValueId, ValueId>> Entering(NodeId id) const;
  // Where a value of a body's port or of a node with bodies comes from; empty for all others.
  absl::Span<const ValueId> FedBy(ValueId value) const;
  // The states of the bodies of Loop and Scan: what a round leaves, what it found.
  absl::Span<const std::pair<ValueId, ValueId>> States() const { return states_; }

  // The conditions that rounds of a Loop compute, whether to go on, which its node does not pass on.
  absl::Span<const ValueId> Conditions() const { return conditions_; }

  NodeId Producer(ValueId value) const { return value == kNone ? kNone : model_.value(value).producer; }
  // The value that `value` was before nodes that only pass it on; of several operands the first. Looks back over
  // kFarthest nodes at most.
  ValueId Origin(ValueId value) const;
  // "Cast_3", escaped.
  std::string Label(NodeId id) const;
  absl::string_view LowName() const { return DTypeName(vertices_.low()); }

 private:
  void JoinBodies(NodeId id);
  OpClass OpClassOf(NodeId id) const { return traits_[id].op_class; }

  const Model& model_;
  const VertexGraph& vertices_;
  const IdVector<NodeId, NodeTraits>& traits_;
  const TargetPromises& promises_;
  std::vector<NodeId> order_;
  IdVector<NodeId, Roles> roles_;
  IntegerBounds integers_;
  ValueRanges ranges_;
  IdVector<ValueId, ValueId> slots_;
  absl::flat_hash_map<NodeId, std::vector<std::pair<ValueId, ValueId>>> entering_;
  absl::flat_hash_map<ValueId, std::vector<ValueId>> fed_by_;
  std::vector<std::pair<ValueId, ValueId>> states_;
  std::vector<ValueId> conditions_;
};

// How much the search around one node may look at; beyond that, what it looks for is not there. It pays for every
// reader and operand before it looks at them, so that thousands of searches through one hub stay linear, and so that
// whether it ends within the budget does not depend on its order.
class SearchBudget {
 public:
  // False once more than the budget is spent, from then on for good.
  bool Spend(size_t count) {
    spent_ += std::min(count, kBudget + 1);
    return !IsOverdrawn();
  }
  bool IsOverdrawn() const { return spent_ > kBudget; }

 private:
  static constexpr size_t kBudget = 256;
  size_t spent_ = 0;
};

// Vetoes of the guards, in the order in which they come. The first reason for a vertex stays.
class VetoList {
 public:
  VetoList(const GuardedGraph& graph, const IdVector<NodeId, NodeTraits>& traits)
      : graph_(graph), traits_(traits), taken_(graph.vertices().size()) {}

  // The vertex of a port. No effect where there is none, it is not float32, or its class is deny.
  void AddInput(NodeId node, size_t port, const std::string& why) { Add(graph_.vertices().OfInput(node, port), why); }
  void AddOutput(NodeId node, size_t port, const std::string& why) { Add(graph_.vertices().OfOutput(node, port), why); }
  // The vertex that gives a value; it may be a port of a body.
  void AddValue(ValueId value, const std::string& why) { Add(graph_.vertices().OfValue(value), why); }
  // Producer of a value.
  void AddProducer(ValueId value, const std::string& why);
  // All vertices of a node.
  void AddNode(NodeId node, const std::string& why);

  std::vector<Veto> Take() { return std::move(vetoes_); }

 private:
  void Add(VertexId vertex, const std::string& why);

  const GuardedGraph& graph_;
  const IdVector<NodeId, NodeTraits>& traits_;
  IdVector<VertexId, bool> taken_;
  std::vector<Veto> vetoes_;
};

}  // namespace amp

#endif  // AMP_PASSES_GUARD_GUARDED_GRAPH_H_
