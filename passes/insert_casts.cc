#include "passes/insert_casts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/attributes.h"
#include "ir/operator_facts.h"
#include "ir/shape.h"
#include "ir/status.h"

namespace amp {
namespace {

class CastPlanner {
 public:
  CastPlanner(const Model& model, const VertexGraph& graph, const std::vector<VertexPaint>& paint,
              const ReleasedIo& released, DType low)
      : model_(model), graph_(graph), paint_(paint), released_(released), low_(low) {}

  CastPlan Plan() {
    const std::vector<ValueId>& inputs = model_.graph(kMainGraph).inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!model_.IsConstant(inputs[i])) PlanValue(inputs[i], static_cast<int>(i));
    }
    for (ValueId id : model_.graph(kMainGraph).initializers) {
      if (model_.IsConstant(id)) PlanConstant(id);
    }
    for (ValueId id = 0; id < model_.num_values(); ++id) {
      if (IsStoredButNotConstant(id)) PlanValue(id, kNone);
    }
    for (NodeId node : model_.NodesInOrder(kMainGraph)) {
      for (ValueId out : model_.node(node).outputs) {
        if (out == kNone) continue;
        model_.IsConstant(out) ? PlanConstant(out) : PlanValue(out, kNone);
      }
    }
    return std::move(plan_);
  }

 private:
  bool IsLow(VertexId v) const { return v != kNone && paint_[static_cast<size_t>(v)].low; }
  bool ReadsLow(const Use& use, bool produced_low) const {
    if (use.IsGraphOutput()) {
      return use.graph == kMainGraph && released_.outputs[static_cast<size_t>(use.port)] && produced_low;
    }
    return IsLow(graph_.OfUse(use));
  }

  // A sparse initializer, or one that training updates.
  bool IsStoredButNotConstant(ValueId id) const {
    const Value& value = model_.value(id);
    const bool is_stored = value.graph == kMainGraph && value.producer == kNone && !value.is_graph_input;
    return is_stored && !model_.IsConstant(id);
  }

  void PlanConstant(ValueId id) {
    const Value& value = model_.value(id);
    if (!value.is_tensor || value.dtype != DType::kFloat32) return;
    CastPlan::Constant constant{id, {}};
    for (const Use& use : value.uses) {
      if (ReadsLow(use, false)) constant.low_readers.push_back(use);
    }
    if (!constant.low_readers.empty()) plan_.constants.push_back(std::move(constant));
  }

  void PlanValue(ValueId id, int input_position) {
    const Value& value = model_.value(id);
    if (!value.is_tensor || value.dtype != DType::kFloat32) return;
    bool low = value.producer != kNone && IsLow(graph_.OfOutput(value.producer, value.producer_port));
    if (input_position != kNone && released_.inputs[static_cast<size_t>(input_position)]) {
      low = std::any_of(value.uses.begin(), value.uses.end(), [&](const Use& use) { return ReadsLow(use, false); });
      if (low) plan_.low_inputs.push_back(input_position);
    }
    if (low) plan_.low_values.push_back(id);

    PlannedCast cast{id, DType::kFloat32, low_, {}, false};
    if (low) std::swap(cast.from, cast.to);
    for (const Use& use : value.uses) {
      if (ReadsLow(use, low) == low) continue;
      if (!use.IsGraphOutput() || use.graph != kMainGraph) {
        cast.readers.push_back(use);
      } else if (low) {
        cast.readers.push_back(use);
        cast.takes_over_output = true;
      }
    }
    if (!cast.readers.empty()) plan_.casts.push_back(std::move(cast));
  }

  const Model& model_;
  const VertexGraph& graph_;
  const std::vector<VertexPaint>& paint_;
  const ReleasedIo& released_;
  const DType low_;
  CastPlan plan_;
};

std::string ReaderLabel(const Model& model, const Use& use) {
  if (!use.IsGraphOutput()) return model.NodeLabel(use.node);
  return absl::StrCat("(output ", model.value(model.graph(use.graph).outputs[static_cast<size_t>(use.port)]).name, ")");
}

}  // namespace

CastPlan PlanCasts(const Model& model, const VertexGraph& graph, const std::vector<VertexPaint>& paint,
                   const ReleasedIo& released, DType low) {
  return CastPlanner(model, graph, paint, released, low).Plan();
}

NodeId InsertCast(Model& model, ValueId value, DType to, const std::vector<Use>& readers, NodeId anchor) {
  const std::string name = model.UniqueName(absl::StrCat(model.value(value).name, "_to_", DTypeName(to)));
  Model::NewNode spec;
  spec.op_type = "Cast";
  spec.name = name;
  spec.inputs = {value};
  spec.outputs = {name};
  const NodeId node = model.InsertAfter(kMainGraph, anchor, spec);
  SetDType(model, node, "to", to);
  const ValueId out = model.node(node).outputs[0];
  model.CopyType(value, out);
  model.SetTensorType(out, to);
  model.MoveUses(value, out, readers);
  return node;
}

std::vector<InsertedCast> ApplyCasts(Model& model, const VertexGraph& graph, const std::vector<VertexPaint>& paint,
                                     const CastPlan& plan, DType low) {
  for (ValueId id : plan.low_values) model.SetTensorType(id, low);

  std::vector<InsertedCast> inserted;
  NodeId front = kNone;  // casts of graph inputs stand at the front, in the inputs' order
  for (const PlannedCast& cast : plan.casts) {
    InsertedCast record{kNone, cast.value, cast.from, cast.to, {}, NumElements(model, cast.value)};
    for (const Use& use : cast.readers) record.readers.push_back(ReaderLabel(model, use));
    const NodeId producer = model.value(cast.value).producer;
    const std::string public_name = model.value(cast.value).name;
    record.node = InsertCast(model, cast.value, cast.to, cast.readers, producer == kNone ? front : producer);
    if (producer == kNone) front = record.node;
    if (cast.takes_over_output) {
      model.TakeOverGraphOutputs(cast.value, model.node(record.node).outputs[0],
                                 model.UniqueName(absl::StrCat(public_name, "_", DTypeName(cast.from))));
    }
    inserted.push_back(std::move(record));
  }
  const auto& outputs = model.graph(kMainGraph).outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (model.value(outputs[i]).dtype == low) model.SetGraphOutputType(static_cast<int>(i), low);
  }
  for (NodeId node : model.NodesInOrder(kMainGraph)) {
    const auto vertices = graph.OfNode(node);
    const auto is_low = [&](VertexId v) { return paint[static_cast<size_t>(v)].low; };
    if (std::any_of(vertices.begin(), vertices.end(), is_low)) SyncTypeAttributes(model, node);
  }
  return inserted;
}

}  // namespace amp
