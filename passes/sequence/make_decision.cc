#include "passes/sequence/make_decision.h"

#include <string>
#include <utility>
#include <vector>

#include "ir/base/status.h"
#include "ir/graph/infer.h"
#include "ir/opset/opset_adapters.h"
#include "passes/decide/choose_opset.h"
#include "passes/decide/replace_batch_norms.h"

namespace amp {
namespace {

absl::Status Lift(RewriteState& state, const OpsetPlan& plan) {
  Model& model = state.model();
  if (plan.obstacle) state.writer.SetOpsetObstacle(plan.obstacle.sentence());
  if (plan.import > 0) ImportOnnx(model, plan.import);
  const NodeId first_made(model.num_nodes());
  const bool lifts = plan.lift_to > model.opset("");
  if (lifts) AMP_RETURN_IF_ERROR(LiftOpset(model, plan.lift_to));
  if (!lifts && plan.import == 0) return absl::OkStatus();
  InferTypes(model);
  state.type_faults = FindSameFaults(model, state.type_faults, first_made);
  return absl::OkStatus();
}

absl::Status NameUnmatchedRules(RewriteState& state) {
  for (std::string& sentence : DescribeUnmatchedRules(state.model(), state.lists, state.decision->classes)) {
    if (state.settings.strict) return UsageError(sentence);
    state.model().AddWarning(std::move(sentence));
  }
  return absl::OkStatus();
}

DecisionInputs InputsOfDecision(RewriteState& state) {
  return {state.lists, state.settings, state.released, state.type_faults, *state.survey, state.batch_norms, state.held};
}

absl::Status DecideOnModel(RewriteState& state) {
  AMP_ASSIGN_OR_RETURN(state.decision, Decide(state.model(), InputsOfDecision(state)));
  return absl::OkStatus();
}

// Without guards nothing is held.
void HoldScaledMuls(RewriteState& state) {
  if (state.settings.guards != Guards::kNone) state.held = HoldMuls(state.model(), state.recorder.scaled());
}

}  // namespace

absl::Status RaiseOpset(RewriteState& state) {
  state.opset_before = state.model().opset("");
  HoldScaledMuls(state);  // of earlier rewrites
  AMP_ASSIGN_OR_RETURN(const OpsetPlan plan, ChooseOpset(state.model(), state.lists, state.settings));
  return Lift(state, plan);
}

absl::Status ReplaceDecomposedNorms(RewriteState& state) {
  const bool stay = state.settings.keep_decomposed || state.settings.guards == Guards::kNone;
  if (stay || state.origins() != nullptr) return absl::OkStatus();
  Model& model = state.model();
  state.batch_norms = SurveyBatchNorms(model, state.settings);
  AMP_ASSIGN_OR_RETURN(const NormPlan plan, PlanNorms(model, InputsOfDecision(state), state.opset_before));
  if (plan.lift_to > 0) AMP_RETURN_IF_ERROR(Lift(state, OpsetPlan{.lift_to = plan.lift_to}));
  state.replaced = ReplaceNorms(model, plan);
  if (!state.replaced.norms.empty()) InferTypes(model);
  return absl::OkStatus();
}

absl::Status MakeDecision(RewriteState& state) {
  state.batch_norms = SurveyBatchNorms(state.model(), state.settings);
  AMP_RETURN_IF_ERROR(DecideOnModel(state));
  return NameUnmatchedRules(state);  // of the user's nodes
}

absl::Status LiftForDecision(RewriteState& state) {
  if (state.decision->opset == 0) return absl::OkStatus();
  AMP_RETURN_IF_ERROR(Lift(state, PlanLift(state.model(), state.lists, state.settings, state.decision->opset)));
  state.batch_norms = SurveyBatchNorms(state.model(), state.settings);
  return DecideOnModel(state);
}

absl::Status ScaleUnfitWeights(RewriteState& state) {
  AMP_ASSIGN_OR_RETURN(const std::vector<ScaledWeight> weights,
                       ScaleWeights(state.model(), *state.decision, InputsOfDecision(state)));
  if (weights.empty()) return absl::OkStatus();
  for (const ScaledWeight& scaled : weights) {
    state.recorder.AddScaled(scaled.product);
    state.writer.AddReplaced({{scaled.path}, scaled.how});
  }
  HoldScaledMuls(state);
  return DecideOnModel(state);
}

absl::Status ReplaceLowBatchNorms(RewriteState& state) {
  for (size_t before = 0; before != state.batch_norms.replaceable.size();) {
    before = state.batch_norms.replaceable.size();
    AMP_ASSIGN_OR_RETURN(const std::vector<ReplacedNode> replaced,
                         ReplaceBatchNorms(state.model(), *state.decision, InputsOfDecision(state), state.batch_norms));
    for (const ReplacedNode& node : replaced) state.recorder.AddReplaced(node.path);
    state.writer.AddReplaced(replaced);
    if (before != state.batch_norms.replaceable.size()) AMP_RETURN_IF_ERROR(DecideOnModel(state));
  }
  return absl::OkStatus();
}

}  // namespace amp
