#include "passes/paint/vertex_graph.h"

#include <algorithm>
#include <numeric>

#include "ir/graph/control_flow.h"
#include "ir/operators/operator_facts.h"
#include "ir/schema/schema.h"

namespace amp {

class VertexGraphBuilder {
 public:
  VertexGraphBuilder(const Model& model, Statistics statistics, VertexGraph& graph)
      : model_(model), statistics_(statistics), graph_(graph), has_casts_(!ObstacleToCasts(model, graph.low())) {}

  void Build() {
    graph_.ports_.resize(static_cast<size_t>(model_.num_nodes()));
    graph_.bodies_.resize(static_cast<size_t>(model_.num_graphs()));
    graph_.value_vertices_.assign(static_cast<size_t>(model_.num_values()), kNone);
    AddScope(kMainGraph);
    graph_.all_ids_.resize(graph_.vertices_.size());
    std::iota(graph_.all_ids_.begin(), graph_.all_ids_.end(), 0);
    parent_ = graph_.all_ids_;
    ConnectValues();
    for (NodeId id : graph_.order_) ConnectPorts(id);
    StoreEdges();
    StoreGroups();
  }

 private:
  using Ports = VertexGraph::Ports;
  Vertex& vertex(VertexId id) { return graph_.vertices_[static_cast<size_t>(id)]; }

  int32_t ReservePorts(size_t count) {
    const auto first = static_cast<int32_t>(graph_.port_vertices_.size());
    graph_.port_vertices_.resize(graph_.port_vertices_.size() + count, kNone);
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
    graph_.bodies_[static_cast<size_t>(scope)].first_input = ReservePorts(body.inputs.size());
    graph_.bodies_[static_cast<size_t>(scope)].first_output = ReservePorts(body.outputs.size());
    for (NodeId id : model_.NodesInOrder(scope)) {
      AddPorts(id);
      for (GraphId inner : model_.node(id).bodies) SkipScope(inner);
    }
  }

  void AddBodyPorts(GraphId scope, int32_t Ports::*first, const std::vector<ValueId>& values) {
    const int32_t slot = ReservePorts(values.size());
    graph_.bodies_[static_cast<size_t>(scope)].*first = slot;
    for (size_t i = 0; i < values.size(); ++i) {
      const Value& value = model_.value(values[i]);
      Vertex v;
      v.node = model_.graph(scope).owner;
      v.body = scope;
      v.is_high = ElementType(value) == DType::kFloat32;
      v.can_be_low = has_casts_;
      v.is_typed = value.type != nullptr;
      v.has_input = true;
      const auto id = static_cast<VertexId>(graph_.vertices_.size());
      graph_.vertices_.push_back(v);
      graph_.port_vertices_[static_cast<size_t>(slot) + i] = id;
      if (first == &Ports::first_input) graph_.value_vertices_[static_cast<size_t>(values[i])] = id;
    }
  }

  Ports& AddPorts(NodeId id) {
    const Node& node = model_.node(id);
    Ports& ports = graph_.ports_[static_cast<size_t>(id)];
    ports.first_vertex = static_cast<int32_t>(graph_.vertices_.size());
    ports.first_input = ReservePorts(node.inputs.size());
    ports.first_output = ReservePorts(node.outputs.size());
    return ports;
  }

  void AddNode(NodeId id) {
    const Node& node = model_.node(id);
    Ports& ports = AddPorts(id);
    const std::optional<ControlFlow> flow = DescribeControlFlow(model_, id);
    if (node.schema == nullptr || (!node.bodies.empty() && !flow.has_value())) return;
    const int num_inputs = node.schema->num_inputs() == 0 ? 0 : static_cast<int>(node.inputs.size());
    const int num_outputs = node.schema->num_outputs() == 0 ? 0 : static_cast<int>(node.outputs.size());
    for (int i = 0; i < num_inputs; ++i) {
      Bind(id, node.inputs[static_cast<size_t>(i)], node.schema->InputVariable(i), ports.first_input + i);
    }
    // State i enters by the i-th position and leaves by it; other outputs of control flow only share its number.
    const int num_states = flow.has_value() ? static_cast<int>(flow->states.size()) : 0;
    for (int i = 0; i < num_outputs; ++i) {
      const bool is_apart = flow.has_value() && i >= num_states;
      const int variable = node.schema->OutputVariable(i) + (is_apart ? num_inputs : 0);
      Bind(id, node.outputs[static_cast<size_t>(i)], variable, ports.first_output + i);
    }
    ports.num_vertices = static_cast<int32_t>(graph_.vertices_.size()) - ports.first_vertex;
  }

  void Bind(NodeId id, ValueId value_id, int variable, int32_t slot) {
    if (value_id == kNone) return;
    const OpSchema& schema = *model_.node(id).schema;
    const Value& value = model_.value(value_id);
    const Ports& ports = graph_.ports_[static_cast<size_t>(id)];
    auto& vertices = graph_.vertices_;
    auto it = std::find_if(vertices.begin() + ports.first_vertex, vertices.end(),
                           [&](const Vertex& v) { return v.variable == variable; });
    if (it == vertices.end()) {
      Vertex v;
      v.node = id;
      v.variable = variable;
      v.can_be_low = has_casts_;
      it = vertices.insert(it, v);
    }
    const bool is_contained = value.type != nullptr && !value.is_tensor;
    const auto allows = [&](DType type) {
      return is_contained ? schema.AllowsContained(variable, type) : schema.Allows(variable, type);
    };
    it->can_be_low &= allows(graph_.low_) && allows(DType::kFloat32);
    it->is_high |= ElementType(value) == DType::kFloat32;
    it->is_typed &= value.type != nullptr;
    const bool is_input = slot < ports.first_output;
    it->has_input |= is_input;
    const auto vertex_id = static_cast<VertexId>(it - vertices.begin());
    graph_.port_vertices_[static_cast<size_t>(slot)] = vertex_id;
    if (!is_input && !model_.IsConstant(value_id)) graph_.value_vertices_[static_cast<size_t>(value_id)] = vertex_id;
  }

  // ---- edges and groups

  void ConnectValues() {
    for (ValueId id = 0; id < model_.num_values(); ++id) {
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
      for (int port = 0; port < static_cast<int>(node.inputs.size()); ++port) {
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
    for (int port = 1; first != kNone && port < static_cast<int>(node.inputs.size()); ++port) {
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
    VertexId& up = parent_[static_cast<size_t>(id)];
    while (up != parent_[static_cast<size_t>(up)]) up = parent_[static_cast<size_t>(up)];
    return up;
  }

  void Unite(VertexId a, VertexId b) {
    group_wanted_.push_back(a);
    a = Find(a);
    b = Find(b);
    parent_[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
  }

  void StoreEdges() {
    std::sort(edges_.begin(), edges_.end());
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
    auto& reader_start = graph_.reader_start_;
    auto& producer_start = graph_.producer_start_;
    reader_start.assign(graph_.vertices_.size() + 1, 0);
    producer_start.assign(graph_.vertices_.size() + 1, 0);
    for (const auto& [from, to] : edges_) {
      ++reader_start[static_cast<size_t>(from) + 1];
      ++producer_start[static_cast<size_t>(to) + 1];
    }
    std::partial_sum(reader_start.begin(), reader_start.end(), reader_start.begin());
    std::partial_sum(producer_start.begin(), producer_start.end(), producer_start.begin());
    graph_.readers_.resize(edges_.size());
    graph_.producers_.resize(edges_.size());
    std::vector<int32_t> next(producer_start.begin(), producer_start.end() - 1);
    for (size_t i = 0; i < edges_.size(); ++i) {
      graph_.readers_[i] = edges_[i].second;
      graph_.producers_[static_cast<size_t>(next[static_cast<size_t>(edges_[i].second)]++)] = edges_[i].first;
    }
  }

  void StoreGroups() {
    graph_.group_of_.assign(graph_.vertices_.size(), kNone);
    std::vector<std::pair<VertexId, VertexId>> members;  // (representative, member)
    std::vector<bool> is_grouped(graph_.vertices_.size(), false);
    for (VertexId id : group_wanted_) is_grouped[static_cast<size_t>(Find(id))] = true;
    for (VertexId id : graph_.all_ids_) {
      if (is_grouped[static_cast<size_t>(Find(id))]) members.emplace_back(Find(id), id);
    }
    std::sort(members.begin(), members.end());
    for (size_t i = 0; i < members.size(); ++i) {
      if (i == 0 || members[i].first != members[i - 1].first) graph_.group_start_.push_back(static_cast<int32_t>(i));
      graph_.group_members_.push_back(members[i].second);
      graph_.group_of_[static_cast<size_t>(members[i].second)] = static_cast<int>(graph_.group_start_.size()) - 1;
    }
    graph_.group_start_.push_back(static_cast<int32_t>(members.size()));
  }

  const Model& model_;
  const Statistics statistics_;
  VertexGraph& graph_;
  const bool has_casts_;
  std::vector<std::pair<VertexId, VertexId>> edges_;
  std::vector<VertexId> parent_;        // of the union-find forest
  std::vector<VertexId> group_wanted_;  // at least one vertex of each group
};

VertexGraph::VertexGraph(const Model& model, DType low, Statistics statistics) : low_(low) {
  VertexGraphBuilder(model, statistics, *this).Build();
}

VertexId VertexGraph::OfInput(NodeId node, int port) const {
  return At(ports_[static_cast<size_t>(node)].first_input, port);
}

VertexId VertexGraph::OfOutput(NodeId node, int port) const {
  return At(ports_[static_cast<size_t>(node)].first_output, port);
}

VertexId VertexGraph::OfBodyInput(GraphId body, int port) const {
  return At(bodies_[static_cast<size_t>(body)].first_input, port);
}

VertexId VertexGraph::OfBodyOutput(GraphId body, int port) const {
  return At(bodies_[static_cast<size_t>(body)].first_output, port);
}

VertexId VertexGraph::OfValue(ValueId value) const {
  return static_cast<size_t>(value) < value_vertices_.size() ? value_vertices_[static_cast<size_t>(value)] : kNone;
}

VertexId VertexGraph::OfUse(const Use& use) const {
  if (use.IsModelOutput()) return kNone;
  return use.IsGraphOutput() ? OfBodyOutput(use.graph, use.port) : OfInput(use.node, use.port);
}

absl::Span<const VertexId> VertexGraph::OfNode(NodeId node) const {
  if (static_cast<size_t>(node) >= ports_.size()) return {};
  const Ports& ports = ports_[static_cast<size_t>(node)];
  return absl::MakeConstSpan(all_ids_).subspan(static_cast<size_t>(ports.first_vertex),
                                               static_cast<size_t>(ports.num_vertices));
}

}  // namespace amp
