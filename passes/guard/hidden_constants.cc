#include "passes/guard/hidden_constants.h"

#include <optional>

#include "absl/algorithm/container.h"
#include "ir/graph/control_flow.h"
#include "ir/operators/operator_facts.h"

namespace amp {
namespace {

constexpr int kMostSteps = 8;
constexpr size_t kMostFound = 8;

bool IsStored(const Model& model, ValueId value) {
  const Value& v = model.value(value);
  return model.IsConstant(value) || (v.is_graph_input && v.IsInitializer());
}

void Find(const Model& model, ValueId value, int steps, std::vector<ValueId>& found) {  // NOLINT(misc-no-recursion)
  if (value == kNone || steps > kMostSteps || found.size() == kMostFound) return;
  const DType dtype = model.value(value).dtype;
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64) return;
  if (IsStored(model, value)) {
    if (!absl::c_linear_search(found, value)) found.push_back(value);
    return;
  }
  const NodeId producer = model.value(value).producer;
  if (producer == kNone) return;
  const Node& node = model.node(producer);
  if (node.bodies.empty()) {
    if (IsCast(node) || CopiesElements(model, producer)) Find(model, node.Input(0), steps + 1, found);
    return;
  }
  const std::optional<ControlFlow> flow = DescribeControlFlow(model, producer);
  if (!flow.has_value()) return;
  for (const ControlFlow::Join& port : flow->outputs) {
    if (node.Output(port.node_port) != value) continue;
    Find(model, model.graph(port.body).outputs[port.body_port], steps + 1, found);
  }
}

}  // namespace

std::vector<ValueId> HiddenConstants(const Model& model, ValueId value) {
  std::vector<ValueId> found;
  if (!model.IsConstant(value)) Find(model, value, 0, found);
  return found;
}

}  // namespace amp
