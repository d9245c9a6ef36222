#include "passes/report/report_graph.h"

#include "absl/container/flat_hash_map.h"
#include "ir/graph/shape.h"

namespace amp {
namespace {

class Describer {
 public:
  Describer(const Model& model, absl::Span<const NodeId> nodes, const ObservedValues* observed)
      : model_(model), observed_(observed), is_reported_(model.num_nodes()), is_drawn_(model.num_nodes()) {
    for (const NodeId id : nodes) is_reported_[id] = true;
    graph_.index.assign(model.num_values(), kNoIndex);
  }

  // Nodes come in the order of the report.
  void AddNode(NodeId id) {
    const Node& node = model_.node(id);
    std::vector<uint32_t> inputs, outputs;
    if (!node.erased && !is_drawn_[id]) {
      is_drawn_[id] = true;
      for (const ValueId value : node.PresentInputs()) inputs.push_back(IndexOf(OriginOf(value)));
      for (const ValueId value : node.PresentOutputs()) outputs.push_back(IndexOf(value));
      if (!node.bodies.empty()) AddBodies(node);
    }
    graph_.node_inputs.push_back(inputs);
    graph_.node_outputs.push_back(outputs);
  }

  ReportGraph Finish() {
    const Graph& main = model_.graph(kMainGraph);
    for (const ValueId value : main.inputs) graph_.inputs.push_back(IndexOf(value));
    for (const ValueId value : main.outputs) graph_.outputs.push_back(IndexOf(OriginOf(value)));
    graph_.value_names.ShrinkToFit();
    graph_.node_inputs.ShrinkToFit();
    graph_.node_outputs.ShrinkToFit();
    graph_.values.shrink_to_fit();
    return std::move(graph_);
  }

 private:
  static constexpr uint32_t kNoIndex = static_cast<uint32_t>(-1);

  // Adds what the graphs of the node read and give.
  void AddBodies(const Node& node) {
    ReportGraph::Bodies bodies;
    bodies.node = graph_.node_inputs.size();
    for (const GraphId body : node.bodies) {
      for (const ValueId value : model_.graph(body).inputs) bodies.inputs.push_back(IndexOf(value));
      for (const ValueId value : model_.graph(body).outputs) bodies.outputs.push_back(IndexOf(OriginOf(value)));
    }
    graph_.bodies.push_back(std::move(bodies));
  }

  // The first input that is no constant; kNone if there is none.
  ValueId DataInput(const Node& node) const {
    for (const ValueId value : node.PresentInputs()) {
      if (!model_.IsConstant(value)) return value;
    }
    return kNone;
  }

  // The value, or what it was made of by nodes that no report names.
  ValueId OriginOf(ValueId value) const {
    while (true) {
      const NodeId producer = model_.value(value).producer;
      if (producer == kNone || is_reported_[producer] || !model_.node(producer).inserted) return value;
      const ValueId data = DataInput(model_.node(producer));
      if (data == kNone) return value;
      value = data;
    }
  }

  uint32_t IndexOf(ValueId id) {
    uint32_t& index = graph_.index[id];
    if (index != kNoIndex) return index;
    index = static_cast<uint32_t>(graph_.values.size());
    const Value& value = model_.value(id);
    graph_.values.push_back({NumBytes(model_, id), TypeOf(id), model_.IsConstant(id)});
    graph_.value_names.push_back(value.name);
    if (observed_ == nullptr) return index;
    const auto found = observed_->find(value.name);
    if (found != observed_->end()) graph_.observed.emplace_back(index, found->second);
    return index;
  }

  uint32_t TypeOf(ValueId id) {
    const auto [it, is_new] = types_.try_emplace(TypeText(model_, id), static_cast<uint32_t>(graph_.types.size()));
    if (is_new) graph_.types.push_back(it->first);
    return it->second;
  }

  const Model& model_;
  const ObservedValues* const observed_;
  absl::flat_hash_map<std::string, uint32_t> types_;  // into graph_.types
  IdVector<NodeId, bool> is_reported_, is_drawn_;
  ReportGraph graph_;
};

}  // namespace

ReportGraph DescribeGraph(const Model& model, absl::Span<const NodeId> nodes, const ObservedValues* observed) {
  Describer describer(model, nodes, observed);
  for (const NodeId node : nodes) describer.AddNode(node);
  return describer.Finish();
}

}  // namespace amp
