#include "passes/decide/find_units.h"

#include <algorithm>

#include "ir/operators/operator_facts.h"

namespace amp {
namespace {

constexpr size_t kNoUnit = static_cast<size_t>(-1);

class Finder {
 public:
  Finder(const Model& model, const Decision& decision)
      : model_(model), decision_(decision), unit_of_(model.num_nodes(), kNoUnit), place_(model.num_nodes(), 0) {
    size_t place = 0;
    for (const NodeId id : decision.graph.order()) {
      place_[id] = place++;
      if (IsLow(id)) low_.push_back(id);
    }
  }

  std::vector<Unit> Find() {
    for (const NodeId id : low_) {
      if (IsHeavy(model_.node(id))) unit_of_[id] = id.index();
    }
    for (const NodeId id : low_) JoinProducer(id, false);
    for (auto it = low_.rbegin(); it != low_.rend(); ++it) JoinReader(*it);
    for (const NodeId id : low_) {
      JoinProducer(id, true);
      if (unit_of_[id] == kNoUnit) unit_of_[id] = id.index();
    }
    return Units();
  }

 private:
  bool IsLow(NodeId id) const {
    const IdRange<VertexId> vertices = decision_.graph.OfNode(id);
    return std::any_of(vertices.begin(), vertices.end(), [&](VertexId v) { return decision_.paint[v].low; });
  }

  bool HasOwnType(NodeId id, size_t port) const { return HasTypeOfItsOwn(model_, decision_.graph, id, port); }

  void JoinProducer(NodeId id, bool through_own_types) {
    if (unit_of_[id] != kNoUnit) return;
    const Node& node = model_.node(id);
    NodeId last = kNone;
    for (size_t port = 0; port < node.inputs.size(); ++port) {
      const NodeId producer = node.inputs[port] == kNone ? kNone : model_.value(node.inputs[port]).producer;
      if (producer == kNone || unit_of_[producer] == kNoUnit) continue;
      if (!through_own_types && HasOwnType(id, port)) continue;
      if (last == kNone || place_[producer] > place_[last]) last = producer;
    }
    if (last != kNone) unit_of_[id] = unit_of_[last];
  }

  void JoinReader(NodeId id) {
    if (unit_of_[id] != kNoUnit) return;
    NodeId first = kNone;
    for (const ValueId output : model_.node(id).PresentOutputs()) {
      for (const Use& use : model_.value(output).uses) {
        if (use.IsGraphOutput() || unit_of_[use.node] == kNoUnit || HasOwnType(use.node, use.port)) continue;
        if (first == kNone || place_[use.node] < place_[first]) first = use.node;
      }
    }
    if (first != kNone) unit_of_[id] = unit_of_[first];
  }

  std::vector<Unit> Units() const {
    std::vector<Unit> units;
    IdVector<NodeId, size_t> position(model_.num_nodes(), kNoUnit);
    for (const NodeId id : low_) {
      const NodeId head(unit_of_[id]);
      if (position[head] == kNoUnit) {
        position[head] = units.size();
        units.push_back({head, {}});
      }
      units[position[head]].nodes.push_back(id);
    }
    std::sort(units.begin(), units.end(),
              [&](const Unit& a, const Unit& b) { return place_[a.head] < place_[b.head]; });
    return units;
  }

  const Model& model_;
  const Decision& decision_;
  std::vector<NodeId> low_;           // in the order of the model
  IdVector<NodeId, size_t> unit_of_;  // the index of the unit's head
  IdVector<NodeId, size_t> place_;
};

}  // namespace

bool HasTypeOfItsOwn(const Model& model, const VertexGraph& graph, NodeId id, size_t port) {
  const Node& node = model.node(id);
  const bool may_have_one = node.bodies.empty() && !node.outputs.empty() && !IsCast(node);
  return may_have_one && graph.OfInput(id, port) != graph.OfOutput(id, 0);
}

std::vector<Unit> FindUnits(const Model& model, const Decision& decision) { return Finder(model, decision).Find(); }

}  // namespace amp
