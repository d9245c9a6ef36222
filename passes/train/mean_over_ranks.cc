#include "passes/train/mean_over_ranks.h"

namespace amp {
namespace {

constexpr absl::string_view kMean = R"(
<domain: "ai.amp", opset_import: ["" : 17]>
StartMeanOverRanks (value) => (started) { started = Identity (value) }

<domain: "ai.amp", opset_import: ["" : 17]>
MeanOverRanks (started) => (mean) { mean = Identity (started) }
)";

constexpr absl::string_view kTrue = R"(
<domain: "ai.amp", opset_import: ["" : 17]>
TrueOnAllRanks (own) => (all) { all = Identity (own) }
)";

ValueId Start(Model& model, ValueId value) {
  const NodeId producer = model.value(value).producer;
  const std::string name = model.UniqueName("step/StartMeanOverRanks");
  const NodeId node = model.InsertAfter(
      kMainGraph, producer == kNone ? model.graph(kMainGraph).last : producer,
      {.op_type = "StartMeanOverRanks", .domain = kOwnDomain, .name = name, .inputs = {value}, .outputs = {name}});
  const ValueId started = model.node(node).Output(0);
  model.CopyType(value, started);
  return started;
}

}  // namespace

void AverageOverRanks(StepGraph& step, std::vector<ValueId>& values) {
  if (!values.empty()) AddFunction(step.model(), kMean);
  for (ValueId& value : values) value = Start(step.model(), value);
  for (ValueId& value : values) value = step.CallLike(value, kMeanOverRanks, {value});
}

ValueId TrueOnAllRanks(StepGraph& step, ValueId own) {
  AddFunction(step.model(), kTrue);
  return step.CallScalar(DType::kBool, "TrueOnAllRanks", {own});
}

}  // namespace amp
