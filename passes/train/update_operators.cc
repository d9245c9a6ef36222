#include "passes/train/update_operators.h"

#include <algorithm>

namespace amp {
namespace {

// Written by tools that extend ai.onnx without saying so: the node's domain is whatever a reader made of that.
constexpr absl::string_view kAnyDomain;
constexpr absl::string_view kPreview = "ai.onnx.preview.training", kMicrosoft = "com.microsoft";

// Inputs are `leading` ones, then groups of as many as there are weights; results are groups of as many again.
struct Row {
  absl::string_view domain, op_type;
  size_t leading, num_groups, gradients;  // the latter: which group
  std::vector<size_t> results;            // the groups whose next values the results are
  bool is_variadic = false;               // else groups have one member each
};

const std::vector<Row>& Rows() {
  static const auto* const rows = new std::vector<Row>{
      {kAnyDomain, "SGD", 0, 2, 1, {0}},
      {kMicrosoft, "SGDOptimizer", 1, 2, 1, {0}},
      {kMicrosoft, "InPlaceAccumulator", 0, 2, 1, {0}},
      {kMicrosoft, "InPlaceAccumulatorV2", 0, 2, 1, {}},
      {kPreview, "Adagrad", 2, 3, 1, {0, 2}, true},
      {kPreview, "Momentum", 2, 3, 1, {0, 2}, true},
      {kPreview, "Adam", 2, 4, 1, {0, 2, 3}, true},
  };
  return *rows;
}

const Row* RowOf(const Model& model, NodeId id) {
  if (model.IsCallOfFunction(id)) return nullptr;
  const Node& node = model.node(id);
  const auto& rows = Rows();
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
    return (row.domain == kAnyDomain || row.domain == node.domain()) && row.op_type == node.op_type();
  });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

std::optional<UpdatePorts> FindUpdatePorts(const Model& model, NodeId id) {
  const Row* row = RowOf(model, id);
  const Node& node = model.node(id);
  if (row == nullptr || node.inputs.size() < row->leading + row->num_groups) return std::nullopt;
  const size_t count = row->is_variadic ? (node.inputs.size() - row->leading) / row->num_groups : 1;
  UpdatePorts ports;
  for (size_t i = 0; i < count; ++i) ports.gradients.push_back(row->leading + row->gradients * count + i);
  for (size_t group = 0; group < row->results.size(); ++group) {
    for (size_t i = 0; i < count; ++i) {
      const size_t output = group * count + i;
      if (node.Output(output) == kNone) continue;
      ports.updates.emplace_back(output, row->leading + row->results[group] * count + i);
    }
  }
  return ports;
}

bool BeginsGradients(const Model& model, NodeId id) {
  constexpr absl::string_view kLossGradient = "SoftmaxCrossEntropyLossGrad";
  constexpr size_t kInputsWithGradient = 3;  // the gradient, the log-probabilities, the labels
  const Node& node = model.node(id);
  return node.op_type() == kLossGradient && node.inputs.size() < kInputsWithGradient;
}

bool IsGradientOperator(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  return node.domain() == kPreview && node.op_type() == "Gradient";
}

}  // namespace amp
