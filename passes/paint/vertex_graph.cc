#include "passes/paint/vertex_graph.h"

#include <algorithm>

#include "ir/graph/control_flow.h"
#include "ir/operators/operator_facts.h"
#include "ir/patterns/batch_norm.h"
#include "ir/schema/schema.h"

namespace amp {

class VertexGraphBuilder {
 public:
  VertexGraphBuilder(const Model& model, Statistics statistics, const NodeSet& replaceable, VertexGraph& graph)
      : model_(model),
        statistics_(statistics),
        replaceable_(replaceable),
        graph_(graph),
        has_casts_(!ObstacleToCasts(model, graph.low())) {}

  void Build() {
    graph_.ports_.resize(model_.num_nodes());
    graph_.bodies_.resize(model_.num_graphs());
    graph_.value_vertices_.resize(model_.num_values());
    AddScope(kMainGraph);
    for (const VertexId id : graph_.ids()) parent_.push_back(id);
    ConnectValues();
    for (NodeId id : graph_.order_) ConnectPorts(id);
    StoreEdges();
    StoreGroups();
  }

 private:
  using Ports = VertexGraph::Ports;
  Vertex& vertex(VertexId id) { return graph_.vertices_[id]; }

  size_t ReservePorts(size_t count) {
    const size_t first = graph_.port_vertices_.size();
    graph_.port_vertices_.resize(first + count);
    return first;
  }

  // ---- vertices

  void AddScope(GraphId scope) {
    graph_.scopes_.push_back(scope);
    if (scope != kMainGraph) AddBodyPorts(scope, &Ports::first_input, model_.graph(scope).inputs);
    for (NodeId id : model_.NodesInOrder(scope)) {
      graph_.order_.push_back(id);
      AddNode(id);
      const bool takes_part = DescribeControlFlow(model_, id).has_value();
      for (GraphId body : model_.node(id).bodies) takes_part ? AddScope(body) : SkipScope(body);
    }
    if (scope != kMainGraph) AddBodyPorts(scope, &Ports::first_output, model_.graph(scope).outputs);
  }

  // Ports without vertices.
  void SkipScope(GraphId scope) {
    const Graph& body = model_.graph(scope);
    graph_.bodies_[scope].first_input = ReservePorts(body.inputs.size());
    graph_.bodies_[scope].first_output = ReservePorts(body.outputs.size());
    for (NodeId id : model_.NodesInOrder(scope)) {
      AddPorts(id);
      for (GraphId inner : model_.node(id).bodies) SkipScope(inner);
    }
  }

  void AddBodyPorts(GraphId scope, size_t Ports::*first, const std::vector<ValueId>& values) {
    const size_t slot = ReservePorts(values.size());
    graph_.bodies_[scope].*first = slot;
    for (size_t i = 0; i < values.size(); ++i) {
      const Value& value = model_.value(values[i]);
      Vertex v;
      v.node = model_.graph(scope).owner;
      v.body = scope;
      v.is_high = ElementType(value) == DType::kFloat32;
      v.can_be_low = has_casts_;
      v.is_typed = value.type != nullptr;
      v.has_input = true;
      const VertexId id = graph_.vertices_.push_back(v);
      graph_.port_vertices_[slot + i] = id;
      if (first == &Ports::first_input) graph_.value_vertices_[values[i]] = id;
    }
  }

  Ports& AddPorts(NodeId id) {
    const Node& node = model_.node(id);
    Ports& ports = graph_.ports_[id];
    ports.first_vertex = ports.end_vertices = graph_.size();
    ports.first_input = ReservePorts(node.inputs.size());
    ports.first_output = ReservePorts(node.outputs.size());
    return ports;
  }

  void AddNode(NodeId id) {
    const Node& node = model_.node(id);
    const Ports& ports = AddPorts(id);
    if (replaceable_.contains(id)) return AddReplaceable(node, id, ports);
    const std::optional<ControlFlow> flow = DescribeControlFlow(model_, id);
    if (node.schema == nullptr || (!node.bodies.empty() && !flow.has_value())) return;
    const size_t num_inputs = node.schema->num_inputs() == 0 ? 0 : node.inputs.size();
    const size_t num_outputs = node.schema->num_outputs() == 0 ? 0 : node.outputs.size();
    for (size_t i = 0; i < num_inputs; ++i) {
      Bind(id, *node.schema, node.inputs[i], node.schema->InputVariable(i), ports.first_input + i);
    }
    // State i enters by the i-th position and leaves by it; other outputs of control flow only share its number.
    const size_t num_states = flow.has_value() ? flow->states.size() : 0;
    for (size_t i = 0; i < num_outputs; ++i) {
      const bool is_apart = flow.has_value() && i >= num_states;
      const int variable = node.schema->OutputVariable(i) + (is_apart ? static_cast<int>(num_inputs) : 0);
      Bind(id, *node.schema, node.outputs[i], variable, ports.first_output + i);
    }
  }

  void AddReplaceable(const Node& node, NodeId id, const Ports& ports) {
    const OpSchema& schema = SchemaOfScaleAndShift(model_);
    Bind(id, schema, node.Input(0), schema.InputVariable(0), ports.first_input);
    Bind(id, schema, node.Output(0), schema.OutputVariable(0), ports.first_output);
  }

  void Bind(NodeId id, const OpSchema& schema, ValueId value_id, int variable, size_t slot) {
    if (value_id == kNone) return;
    const Value& value = model_.value(value_id);
    const VertexId vertex_id = OfVariable(id, variable);
    Vertex& v = vertex(vertex_id);
    const bool is_contained = value.type != nullptr && !value.is_tensor;
    const auto allows = [&](DType type) {
      return is_contained ? schema.AllowsContained(variable, type) : schema.Allows(variable, type);
    };
    v.can_be_low &= allows(graph_.low_) && allows(DType::kFloat32);
    v.is_high |= ElementType(value) == DType::kFloat32;
    v.is_typed &= value.type != nullptr;
    const bool is_input = slot < graph_.ports_[id].first_output;
    v.has_input |= is_input;
    graph_.port_vertices_[slot] = vertex_id;
    if (!is_input && !model_.IsConstant(value_id)) graph_.value_vertices_[value_id] = vertex_id;
  }

  // The node's vertex for a type variable, a new one if it has none. REQUIRES: no later node has a vertex.
  VertexId OfVariable(NodeId id, int variable) {
    for (const VertexId known : graph_.OfNode(id)) {
      if (vertex(known).variable == variable) return known;
    }
    graph_.ports_[id].end_vertices = graph_.size() + 1;
    return graph_.vertices_.push_back({.node = id, .variable = variable, .can_be_low = has_casts_});
  }

  // ---- edges and groups

  void ConnectValues() {
    for (const ValueId id : model_.AllValues()) {
      const Value& value = model_.value(id);
      const VertexId from = graph_.OfValue(id);
      if (value.producer != kNone && model_.node(value.producer).erased) continue;
      const bool takes_casts = value.is_tensor || ElementType(value) != DType::kFloat32;
      for (const Use& use : value.uses) {
        const VertexId to = graph_.OfUse(use);
        if (from != kNone && to != kNone) edges_.emplace_back(from, to);
        if (takes_casts) continue;
        if (from != kNone && to != kNone) {
          Unite(from, to);
        } else if (from != kNone || to != kNone) {
          Pin(from == kNone ? to : from);
        }
      }
    }
  }

  void ConnectPorts(NodeId id) {
    if (const auto flow = DescribeControlFlow(model_, id)) {
      for (const auto& join : flow->inputs) {
        Join(graph_.OfInput(id, join.node_port), graph_.OfBodyInput(join.body, join.body_port));
      }
      for (const auto& join : flow->outputs) {
        Join(graph_.OfBodyOutput(join.body, join.body_port), graph_.OfOutput(id, join.node_port));
      }
      for (const auto& state : flow->states) {
        Join(graph_.OfBodyOutput(state.body, state.output), graph_.OfBodyInput(state.body, state.input));
      }
    } else if (KeepsElementType(model_.node(id))) {
      const Node& node = model_.node(id);
      const VertexId out = node.outputs.empty() ? kNone : graph_.OfOutput(id, 0);
      for (size_t port = 0; port < node.inputs.size(); ++port) {
        const VertexId in = graph_.OfInput(id, port);
        if (in != kNone && in != out && vertex(in).is_high) Join(in, out);
      }
    } else if (statistics_ == Statistics::kFollowInput && TakesStatistics(model_.node(id))) {
      UniteStatistics(id);
    }
  }

  void UniteStatistics(NodeId id) {
    const Node& node = model_.node(id);
    const VertexId first = graph_.OfInput(id, 0);
    for (size_t port = 1; first != kNone && port < node.inputs.size(); ++port) {
      const VertexId other = graph_.OfInput(id, port);
      if (other != kNone && other != first && vertex(other).is_high) Unite(first, other);
    }
  }

  // Two ports that hold one value.
  void Join(VertexId from, VertexId to) {
    if (from == kNone || to == kNone) return;
    edges_.emplace_back(from, to);
    Unite(from, to);
  }

  void Pin(VertexId id) {
    vertex(id).is_pinned = true;
    group_wanted_.push_back(id);
  }

  VertexId Find(VertexId id) {
    VertexId& up = parent_[id];
    while (up != parent_[up]) up = parent_[up];
    return up;
  }

  void Unite(VertexId a, VertexId b) {
    group_wanted_.push_back(a);
    a = Find(a);
    b = Find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

  void StoreEdges() {
    std::sort(edges_.begin(), edges_.end());
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
    graph_.readers_ = IdRows<VertexId, VertexId>(graph_.size(), edges_);
    for (auto& [from, to] : edges_) std::swap(from, to);
    graph_.producers_ = IdRows<VertexId, VertexId>(graph_.size(), edges_);
  }

  void StoreGroups() {
    graph_.group_of_.resize(graph_.size());
    IdVector<VertexId, bool> is_grouped(graph_.size());
    for (VertexId id : group_wanted_) is_grouped[Find(id)] = true;
    std::vector<std::pair<GroupId, VertexId>> members;
    size_t num_groups = 0;
    for (VertexId id : graph_.ids()) {
      if (!is_grouped[Find(id)]) continue;
      GroupId& group = graph_.group_of_[Find(id)];  // of the lowest member, which comes first
      if (group == kNone) group = GroupId(num_groups++);
      graph_.group_of_[id] = group;
      members.emplace_back(group, id);
    }
    graph_.groups_ = IdRows<GroupId, VertexId>(num_groups, members);
  }

  const Model& model_;
  const Statistics statistics_;
  const NodeSet& replaceable_;
  VertexGraph& graph_;
  const bool has_casts_;
  std::vector<std::pair<VertexId, VertexId>> edges_;
  IdVector<VertexId, VertexId> parent_;  // of the union-find forest
  std::vector<VertexId> group_wanted_;   // at least one vertex of each group
};

VertexGraph::VertexGraph(const Model& model, DType low, Statistics statistics, const NodeSet& replaceable) : low_(low) {
  VertexGraphBuilder(model, statistics, replaceable, *this).Build();
}

VertexId VertexGraph::OfInput(NodeId node, size_t port) const { return At(ports_[node].first_input, port); }

VertexId VertexGraph::OfOutput(NodeId node, size_t port) const { return At(ports_[node].first_output, port); }

VertexId VertexGraph::OfBodyInput(GraphId body, size_t port) const { return At(bodies_[body].first_input, port); }

VertexId VertexGraph::OfBodyOutput(GraphId body, size_t port) const { return At(bodies_[body].first_output, port); }

VertexId VertexGraph::OfValue(ValueId value) const {
  return value_vertices_.contains(value) ? value_vertices_[value] : kNone;
}

VertexId VertexGraph::OfUse(const Use& use) const {
  if (use.IsModelOutput()) return kNone;
  return use.IsGraphOutput() ? OfBodyOutput(use.graph, use.port) : OfInput(use.node, use.port);
}

IdRange<VertexId> VertexGraph::OfNode(NodeId node) const {
  if (!ports_.contains(node)) return IdRange<VertexId>(0);
  return IdRange<VertexId>(ports_[node].first_vertex, ports_[node].end_vertices);
}

}  // namespace amp
