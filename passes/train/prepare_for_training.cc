#include "passes/train/prepare_for_training.h"

#include <algorithm>
#include <utility>

#include "ir/base/status.h"
#include "ir/functions/inline_by_mode.h"
#include "ir/functions/schema_functions.h"
#include "ir/graph/infer.h"
#include "ir/opset/opset_adapters.h"
#include "passes/train/differentiate.h"
#include "passes/train/give_masks.h"
#include "passes/train/gradient/gradient_rule.h"

namespace amp {
namespace {

constexpr int kMostRounds = 4;  // bodies of schemas hold operators that have one

bool IsFloat(const Model& model, ValueId value) { return LargestFinite(ElementType(model.value(value))) > 0; }

// A float result of a float operand, by an operator without a rule.
bool NeedsBody(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  if (node.graph != kMainGraph || !node.bodies.empty() || FindGradientRule(node.domain(), node.op_type()) != nullptr) {
    return false;
  }
  const auto is_float = [&](ValueId value) { return IsFloat(model, value); };
  return std::any_of(node.inputs.begin(), node.inputs.end(), is_float) &&
         std::any_of(node.outputs.begin(), node.outputs.end(), is_float);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Model>> PrepareForTraining(std::unique_ptr<Model> model,
                                                          const std::shared_ptr<const OpSignatures>& signatures,
                                                          const Limits& limits) {
  AMP_ASSIGN_OR_RETURN(model, InlineByMode(std::move(model), FunctionMode::kInline, signatures, limits));
  // In one go: some operators reach a newer opset and none in between.
  const int reach = ReachableOpset(*model, kOpsetOfAllRules).opset;
  if (const int wanted = std::max(reach, kOldestTrainableOpset); wanted > model->opset("")) {
    AMP_RETURN_IF_ERROR(LiftOpset(*model, wanted));
    InferTypes(*model);
  }
  for (int round = 0; round < kMostRounds; ++round) {
    if (CallSchemaFunctions(*model, [&](NodeId id) { return NeedsBody(*model, id); }) == 0) break;
    AMP_ASSIGN_OR_RETURN(model, InlineByMode(std::move(model), FunctionMode::kInline, signatures, limits));
  }
  GiveMasks(*model);
  InferTypes(*model);
  return model;
}

}  // namespace amp
