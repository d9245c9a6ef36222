#include "passes/vertex_graph.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ir/operator_facts.h"
#include "ir/schema.h"

namespace amp {
namespace {

bool HasVertices(const Model& model, NodeId id) {
  const Node& n = model.node(id);
  if (n.schema == nullptr || !n.bodies.empty()) return false;
  const auto is_sequence_or_optional = [&](ValueId value) {
    return value != kNone && model.value(value).type != nullptr && !model.value(value).is_tensor;
  };
  return std::none_of(n.inputs.begin(), n.inputs.end(), is_sequence_or_optional) &&
         std::none_of(n.outputs.begin(), n.outputs.end(), is_sequence_or_optional);
}

}  // namespace

VertexGraph::VertexGraph(const Model& model, DType low) : low_(low), has_casts_(ObstacleToCasts(model).empty()) {
  ports_.resize(static_cast<size_t>(model.num_nodes()));
  const std::vector<NodeId> order = model.NodesInOrder(kMainGraph);
  for (NodeId id : order) AddNode(model, id);
  all_ids_.resize(vertices_.size());
  std::iota(all_ids_.begin(), all_ids_.end(), 0);
  AddEdges(model);
}

void VertexGraph::AddNode(const Model& model, NodeId id) {
  const Node& n = model.node(id);
  Ports& ports = ports_[static_cast<size_t>(id)];
  ports.first_vertex = static_cast<int32_t>(vertices_.size());
  ports.first_input = static_cast<int32_t>(port_vertices_.size());
  ports.first_output = ports.first_input + static_cast<int32_t>(n.inputs.size());
  port_vertices_.resize(port_vertices_.size() + n.inputs.size() + n.outputs.size(), kNone);
  if (!HasVertices(model, id)) return;

  const auto bind = [&](ValueId value_id, int variable, int32_t slot, bool is_input) {
    if (value_id == kNone) return;
    const Value& value = model.value(value_id);
    auto begin = vertices_.begin() + ports.first_vertex;
    auto it = std::find_if(begin, vertices_.end(), [&](const Vertex& v) { return v.variable == variable; });
    if (it == vertices_.end()) {
      Vertex v;
      v.node = id;
      v.variable = variable;
      v.can_be_low = has_casts_ && n.schema->Allows(variable, low_) && n.schema->Allows(variable, DType::kFloat32);
      it = vertices_.insert(it, v);
    }
    port_vertices_[static_cast<size_t>(slot)] = static_cast<VertexId>(it - vertices_.begin());
    if (value.is_tensor && value.dtype == DType::kFloat32) it->is_high = true;
    if (value.type == nullptr) it->is_typed = false;
    it->has_input |= is_input;
  };
  for (int i = 0; i < static_cast<int>(n.inputs.size()); ++i) {
    if (n.schema->num_inputs() == 0) break;
    bind(n.inputs[static_cast<size_t>(i)], n.schema->InputVariable(i), ports.first_input + i, true);
  }
  for (int i = 0; i < static_cast<int>(n.outputs.size()); ++i) {
    if (n.schema->num_outputs() == 0) break;
    bind(n.outputs[static_cast<size_t>(i)], n.schema->OutputVariable(i), ports.first_output + i, false);
  }
  ports.num_vertices = static_cast<int32_t>(vertices_.size()) - ports.first_vertex;
}

void VertexGraph::AddEdges(const Model& model) {
  std::vector<std::pair<VertexId, VertexId>> edges;
  for (ValueId id = 0; id < model.num_values(); ++id) {
    const Value& value = model.value(id);
    if (value.producer == kNone || value.graph != kMainGraph || model.node(value.producer).erased) continue;
    const VertexId from = OfOutput(value.producer, value.producer_port);
    if (from == kNone) continue;
    for (const Use& use : value.uses) {
      if (const VertexId to = OfUse(use); to != kNone) edges.emplace_back(from, to);
    }
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());

  reader_start_.assign(vertices_.size() + 1, 0);
  producer_start_.assign(vertices_.size() + 1, 0);
  for (const auto& [from, to] : edges) {
    ++reader_start_[static_cast<size_t>(from) + 1];
    ++producer_start_[static_cast<size_t>(to) + 1];
  }
  std::partial_sum(reader_start_.begin(), reader_start_.end(), reader_start_.begin());
  std::partial_sum(producer_start_.begin(), producer_start_.end(), producer_start_.begin());
  readers_.resize(edges.size());
  producers_.resize(edges.size());
  std::vector<int32_t> next(producer_start_.begin(), producer_start_.end() - 1);
  for (size_t i = 0; i < edges.size(); ++i) {
    readers_[i] = edges[i].second;
    producers_[static_cast<size_t>(next[static_cast<size_t>(edges[i].second)]++)] = edges[i].first;
  }
}

VertexId VertexGraph::OfInput(NodeId node, int port) const {
  const auto index = ports_[static_cast<size_t>(node)].first_input + port;
  return port_vertices_[static_cast<size_t>(index)];
}

VertexId VertexGraph::OfOutput(NodeId node, int port) const {
  const auto index = ports_[static_cast<size_t>(node)].first_output + port;
  return port_vertices_[static_cast<size_t>(index)];
}

VertexId VertexGraph::OfUse(const Use& use) const {
  return use.IsGraphOutput() || use.graph != kMainGraph ? kNone : OfInput(use.node, use.port);
}

absl::Span<const VertexId> VertexGraph::OfNode(NodeId node) const {
  if (static_cast<size_t>(node) >= ports_.size()) return {};
  const Ports& ports = ports_[static_cast<size_t>(node)];
  return absl::MakeConstSpan(all_ids_).subspan(static_cast<size_t>(ports.first_vertex),
                                               static_cast<size_t>(ports.num_vertices));
}

}  // namespace amp
