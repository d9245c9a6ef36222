#include "passes/report/report_graph.h"

#include "ir/graph/shape.h"

namespace amp {
namespace {

class Describer {
 public:
  Describer(const Model& model, absl::Span<const NodeId> nodes, const ObservedValues* observed)
      : model_(model), observed_(observed), is_reported_(model.num_nodes()), is_drawn_(model.num_nodes()) {
    for (const NodeId id : nodes) is_reported_[id] = true;
    graph_.index.assign(model.num_values(), kNoIndex);
    graph_.nodes.resize(nodes.size());
  }

  void AddNode(size_t position, NodeId id) {
    const Node& node = model_.node(id);
    if (node.erased || is_drawn_[id]) return;
    is_drawn_[id] = true;
    ReportGraph::Node& ports = graph_.nodes[position];
    for (const ValueId value : node.PresentInputs()) ports.inputs.push_back(IndexOf(OriginOf(value)));
    for (const ValueId value : node.PresentOutputs()) ports.outputs.push_back(IndexOf(value));
    for (const GraphId body : node.bodies) {
      for (const ValueId value : model_.graph(body).inputs) ports.body_inputs.push_back(IndexOf(value));
      for (const ValueId value : model_.graph(body).outputs) ports.body_outputs.push_back(IndexOf(OriginOf(value)));
    }
  }

  ReportGraph Finish() {
    const Graph& main = model_.graph(kMainGraph);
    for (const ValueId value : main.inputs) graph_.inputs.push_back(IndexOf(value));
    for (const ValueId value : main.outputs) graph_.outputs.push_back(IndexOf(OriginOf(value)));
    return std::move(graph_);
  }

 private:
  static constexpr size_t kNoIndex = static_cast<size_t>(-1);

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

  size_t IndexOf(ValueId id) {
    size_t& index = graph_.index[id];
    if (index != kNoIndex) return index;
    index = graph_.values.size();
    const Value& value = model_.value(id);
    ReportValue& described = graph_.values.emplace_back();
    described.name = value.name;
    described.type = TypeText(model_, id);
    described.num_bytes = NumBytes(model_, id);
    described.is_constant = model_.IsConstant(id);
    if (observed_ == nullptr) return index;
    const auto found = observed_->find(value.name);
    if (found != observed_->end()) graph_.observed.emplace_back(index, found->second);
    return index;
  }

  const Model& model_;
  const ObservedValues* const observed_;
  IdVector<NodeId, bool> is_reported_, is_drawn_;
  ReportGraph graph_;
};

}  // namespace

ReportGraph DescribeGraph(const Model& model, absl::Span<const NodeId> nodes, const ObservedValues* observed) {
  Describer describer(model, nodes, observed);
  for (size_t i = 0; i < nodes.size(); ++i) describer.AddNode(i, nodes[i]);
  return describer.Finish();
}

}  // namespace amp
