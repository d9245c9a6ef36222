#include "passes/sequence/rewrite_model.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "ir/file/undeclared_attributes.h"
#include "ir/functions/inline_by_mode.h"
#include "ir/graph/infer.h"
#include "ir/graph/verify.h"
#include "ir/operators/operator_facts.h"
#include "ir/operators/private_layout.h"
#include "ir/opset/opset_adapters.h"
#include "passes/guard/check_observed_names.h"
#include "passes/record/call_record.h"
#include "passes/report/give_hints.h"
#include "passes/report/stages.h"
#include "passes/sequence/apply_decision.h"
#include "passes/sequence/make_decision.h"
#include "passes/sequence/rewrite_state.h"
#include "passes/train/make_step.h"
#include "passes/train/step_metadata.h"
#include "passes/train/wrap_step.h"
#include "passes/undo/undo_rewrite.h"

namespace amp {
namespace {

absl::Status InlineCalls(RewriteState& state) {
  LoadedFile& file = state.file;
  AMP_ASSIGN_OR_RETURN(state.inlined,
                       InlineByMode(file.arena, *file.model, state.settings.functions, state.settings.limits));
  state.message_edited = state.inlined.model_edited;
  return absl::OkStatus();
}

absl::Status DropUndeclaredAttributes(RewriteState& state) {
  state.removed_attributes = RemoveUndeclaredAttributes(*state.file.model, state.file.highest_opset_import);
  state.message_edited = state.message_edited || !state.removed_attributes.empty();
  return absl::OkStatus();
}

absl::Status MakeGraph(RewriteState& state) {
  AMP_ASSIGN_OR_RETURN(state.graph, Model::Create(std::move(state.file.arena), state.file.model, state.signatures,
                                                  state.file.weights()));
  state.recorder.Begin(state.model(), &state.inlined);
  state.writer.Begin(state.model(), state.settings.low, state.settings.target.name);
  return absl::OkStatus();
}

void TakeStep(RewriteState& state, std::unique_ptr<Model> model, std::string line) {
  state.graph = std::move(model);
  state.step_line = std::move(line);
  state.message_edited = true;
  state.inlined.calls = {};  // of nodes that are others now
  state.inlined.call_of.clear();
  state.recorder.Begin(state.model(), &state.inlined);
}

// One sentence, for the last line.
absl::Status FreeStatedDimensions(RewriteState& state) {
  const std::vector<FreedDimension>& freed = state.settings.freed;
  if (freed.empty()) return absl::OkStatus();
  InferTypes(state.model());
  AMP_RETURN_IF_ERROR(FreeDimensions(state.model(), freed));
  std::vector<std::string> places;
  places.reserve(freed.size());
  for (const FreedDimension& each : freed) places.push_back(absl::StrCat(Escaped(each.input), ":", each.axis));
  state.freed_line = absl::StrCat("Made ", absl::StrJoin(places, ", "), " symbolic");
  return absl::OkStatus();
}

// Most exports have a fixed batch of 1, and nobody trains on that.
std::string FreeBatchForTraining(RewriteState& state) {
  if (!state.settings.freed.empty()) return "";
  FreedBatch freed = FreeBatch(state.model());
  if (freed.is_free) return absl::StrCat("; ", freed.sentence);
  if (!freed.sentence.empty()) state.model().AddWarning(std::move(freed.sentence));
  return "";
}

// All that follows is about the step, as if it had been in the file.
absl::Status MakeTrainingStep(RewriteState& state) {
  const std::optional<StepSettings>& settings = state.settings.step;
  if (!settings.has_value()) return absl::OkStatus();
  InferTypes(state.model());
  AMP_RETURN_IF_ERROR(TakeBackIfRecorded(state.model()));
  UnifyOpset(state.model(), state.file.highest_opset_import);
  const std::string freed = FreeBatchForTraining(state);
  AMP_ASSIGN_OR_RETURN(MadeStep step,
                       MakeStep(std::move(state.graph), state.signatures, *settings, state.settings.limits));
  TakeStep(state, std::move(step.model), step.line + freed);
  return absl::OkStatus();
}

absl::Status WrapTrainingGraph(RewriteState& state) {
  const std::optional<WrapSettings>& settings = state.settings.wrap;
  if (!settings.has_value()) return absl::OkStatus();
  InferTypes(state.model());
  UnifyOpset(state.model(), state.file.highest_opset_import);
  AMP_ASSIGN_OR_RETURN(WrappedStep step,
                       WrapStep(std::move(state.graph), state.signatures, *settings, state.settings.limits));
  TakeStep(state, std::move(step.model), std::move(step.line));
  return absl::OkStatus();
}

absl::Status LeaveFloat32Step(RewriteState& state) {
  const std::optional<StepSettings>& settings = state.settings.step;
  state.converts_nothing = settings.has_value() && settings->compute == DType::kFloat32;
  return absl::OkStatus();
}

absl::Status InferAllTypes(RewriteState& state) {
  Model& model = state.model();
  if (state.settings.freeze_initializers) model.FreezeInitializers();
  InferTypes(model);
  state.type_faults = FindTypeFaults(model);
  state.type_warning = Describe(model, state.type_faults);
  state.survey.emplace(model, state.settings.low);
  state.writer.Begin(model, state.settings.low, state.settings.target.name);
  return absl::OkStatus();
}

// A step has more values than the forward model that was observed.
absl::Status CheckRanges(RewriteState& state) {
  if (state.settings.observed == nullptr || !state.step_line.empty()) return absl::OkStatus();
  AMP_ASSIGN_OR_RETURN(std::vector<std::string> sentences, CheckObservedNames(state.model(), *state.settings.observed));
  for (std::string& sentence : sentences) {
    if (state.settings.strict) return UsageError(sentence);
    state.model().AddWarning(std::move(sentence));
  }
  return absl::OkStatus();
}

absl::Status ReleaseInputsAndOutputs(RewriteState& state) {
  AMP_ASSIGN_OR_RETURN(state.released, ReleaseIo(state.model(), state.settings.keep_io));
  return absl::OkStatus();
}

// Nodes learn which calls they come from, of this run and of earlier ones.
absl::Status RememberCalls(RewriteState& state) {
  Model& model = state.model();
  state.writer.AddFunctions(state.inlined);
  MarkCalls(model, state.inlined);
  RestoreFunctionNames(model);
  if (state.origins() == nullptr) RestoreCalls(model);
  if (state.settings.diff) state.before = ListModel(model);
  return absl::OkStatus();
}

absl::Status UnifyOpsets(RewriteState& state) {
  if (!state.step_line.empty()) return absl::OkStatus();  // that is done
  if (UnifyOpset(state.model(), state.file.highest_opset_import)) InferTypes(state.model());
  return absl::OkStatus();
}

// Whether the vertex is float32 only because its operator lacks the low type at the model's opset. Signatures of other
// domains are the same at every opset.
bool WaitsForOpset(const Model& model, const Decision& decision, VertexId v) {
  if (decision.paint[v].reason.kind != ReasonKind::kSchemaForbids) return false;
  const Node& node = model.node(decision.graph[v].node);
  return node.domain().empty() || node.schema->Allows(decision.graph[v].variable, decision.graph.low());
}

// Why no cast can be made, where an operator would be low with casts.
Reason WhyNoCasts(const Model& model, const Decision& decision, const RewriteSettings& settings) {
  Reason why = ObstacleToCasts(model, settings.low);
  if (!why) return why;
  const bool forces_all = settings.paint.level == Level::kUnsafeForceAll;
  for (const VertexId v : decision.graph.ids()) {
    const bool is_wanted = forces_all || decision.classes.nodes[decision.graph[v].node].op_class == OpClass::kAllow;
    if (is_wanted && WaitsForOpset(model, decision, v)) return why;
  }
  return Reason::None();
}

absl::Status ExplainDecision(RewriteState& state) {
  Model& model = state.model();
  const Decision& decision = *state.decision;
  if (const Reason why = WhyNoCasts(model, decision, state.settings)) {
    model.AddWarning(absl::StrCat("nothing is converted: ", why.sentence()));
  }
  if (std::string layout = DescribePrivateLayout(model); !layout.empty()) model.AddWarning(std::move(layout));
  if (std::string refused = WarnOfNormsOverOwnCasts(model, state.opset_before); !refused.empty()) {
    model.AddWarning(std::move(refused));
  }
  for (const ReplacedNorm& norm : state.replaced.norms) {
    state.writer.AddReplaced({norm.nodes, absl::StrCat(model.node(norm.unit.node).op_type(), " ", norm.path)});
  }
  state.writer.ExplainNodes(model, decision.classes, decision.graph, decision.paint);
  if (state.settings.describe_graph) state.writer.DescribeGraph(model, state.settings.observed.get());
  const bool has_tensor_cores = state.settings.target.promises.device.value_or(Device::kCuda) == Device::kCuda;
  if (has_tensor_cores) state.writer.AddHints(HintAtDimensions(model, decision.graph, decision.paint));
  state.writer.AddHints(HintAtOpset(model, decision.graph, decision.paint));
  if (!state.settings.keep_decomposed) state.writer.AddHints(HintAtNorms(model, decision));
  return absl::OkStatus();
}

absl::Status LeaveUnlessLow(RewriteState& state) {
  state.converts_nothing = state.decision->ConvertsNothing();
  return absl::OkStatus();
}

absl::StatusOr<std::string> TextOfTypes(RewriteState& state) { return ShowTypes(state.model()); }
absl::StatusOr<std::string> TextOfClasses(RewriteState& state) {
  return ShowClasses(state.model(), state.decision->classes);
}
absl::StatusOr<std::string> TextOfVetoes(RewriteState& state) {
  return ShowVetoes(state.model(), state.decision->graph, state.decision->vetoes);
}
absl::StatusOr<std::string> TextOfPaint(RewriteState& state) {
  return ShowPaint(state.model(), state.decision->graph, state.decision->paint);
}
template <Stage stage>
absl::StatusOr<std::string> TextOfModel(RewriteState& state) {
  return ShowModel(stage, state.model());
}

struct Row {
  Stage stage;
  absl::Status (*run)(RewriteState&) = nullptr;
  // At the end of the stage, and only there: what it shows of itself.
  absl::StatusOr<std::string> (*show)(RewriteState&) = nullptr;
  // Also after --stop-after an earlier stage, once weights are low: the result has to be whole.
  bool completes = false;
};

constexpr Row kSequence[] = {
    // the message
    {Stage::kLoad, InlineCalls},
    {Stage::kLoad, DropUndeclaredAttributes},
    {Stage::kLoad, MakeGraph},
    {Stage::kLoad, FreeStatedDimensions},
    {Stage::kLoad, WrapTrainingGraph},
    {Stage::kLoad, MakeTrainingStep, TextOfModel<Stage::kLoad>},
    // the graph
    {Stage::kInfer, LeaveFloat32Step},
    {Stage::kInfer, InferAllTypes},
    {Stage::kInfer, CheckRanges},
    {Stage::kInfer, ReleaseInputsAndOutputs},
    {Stage::kInfer, RememberCalls, TextOfTypes},
    {Stage::kLift, UnifyOpsets},
    {Stage::kLift, RaiseOpset},
    // the decision, whole before any of it is shown, since it may ask for edits and be made again
    {Stage::kLift, ReplaceDecomposedNorms},
    {Stage::kLift, MakeDecision},
    {Stage::kLift, LiftForDecision},
    {Stage::kLift, ReplaceLowBatchNorms},  // which may make weights fit
    {Stage::kLift, ScaleUnfitWeights},
    {Stage::kLift, ReplaceLowBatchNorms},
    {Stage::kLift, ExplainDecision, TextOfModel<Stage::kLift>},
    {Stage::kClassify, nullptr, TextOfClasses},
    {Stage::kGuard, nullptr, TextOfVetoes},
    {Stage::kPaint, nullptr, TextOfPaint},
    // the edits
    {Stage::kCasts, LeaveUnlessLow},
    {Stage::kCasts, InsertPlannedCasts, TextOfModel<Stage::kCasts>},
    {Stage::kWeights, NarrowPlannedWeights, TextOfModel<Stage::kWeights>},
    {Stage::kFold, FoldSuperfluousCasts},
    {Stage::kFold, RecordEdits, nullptr, true},
    {Stage::kFold, CheckResult, TextOfModel<Stage::kFold>, true},
    {Stage::kFold, RestoreFunctions},
};

class Sequence {
 public:
  explicit Sequence(RewriteState& state) : state_(state), settings_(state.settings) {}

  absl::Status Run() {
    for (const Row& row : kSequence) {
      if (has_stopped_ && !(row.completes && state_.narrowed.has_value())) continue;
      AMP_RETURN_IF_ERROR(settings_.MayGoOn());
      if (row.run != nullptr) AMP_RETURN_IF_ERROR(row.run(state_));
      if (state_.converts_nothing) break;
      if (row.show != nullptr && !has_stopped_) AMP_RETURN_IF_ERROR(End(row));
    }
    return absl::OkStatus();
  }

  // Stopped before the end by --stop-after.
  bool has_stopped() const { return has_stopped_; }

  std::string NamesNotReached() const {
    std::string lines;
    for (Stage stage : settings_.print_after) {
      if (!shown_.contains(stage)) absl::StrAppend(&lines, "---- ", StageName(stage), " was not reached\n");
    }
    return lines;
  }

 private:
  absl::Status End(const Row& row) {
    if (settings_.on_stage) AMP_RETURN_IF_ERROR(settings_.on_stage(row.stage));
    Verify(state_.model());
    const auto& wanted = settings_.print_after;
    if (std::find(wanted.begin(), wanted.end(), row.stage) != wanted.end()) {
      shown_.insert(row.stage);
      AMP_ASSIGN_OR_RETURN(const std::string text, row.show(state_));
      state_.outcome.stages += text;
    }
    has_stopped_ = settings_.stop_after == row.stage;
    return absl::OkStatus();
  }

  RewriteState& state_;
  const RewriteSettings& settings_;
  absl::flat_hash_set<Stage> shown_;
  bool has_stopped_ = false;
};

}  // namespace

absl::StatusOr<RewriteOutcome> RewriteModel(LoadedFile& file, std::shared_ptr<const OpSignatures> signatures,
                                            const OpLists& lists, const RewriteSettings& settings) {
  RewriteState state(file, std::move(signatures), lists, settings);
  Sequence sequence(state);
  AMP_RETURN_IF_ERROR(sequence.Run());
  Model& model = state.model();
  if (sequence.has_stopped() && !state.plan.has_value()) model.Commit();
  RewriteOutcome& outcome = state.outcome;
  outcome.is_edited = state.message_edited || model.edited();
  const bool has_step = !state.step_line.empty();
  const bool is_changed = outcome.is_edited && (!state.converts_nothing || has_step || !settings.freed.empty());
  if (is_changed && state.converts_nothing) model.Commit();
  if (is_changed && state.plan.has_value()) SetStepType(model, settings.low);
  if (is_changed && settings.diff) outcome.diff = DiffListings(state.before, ListModel(model));
  outcome.report = state.writer.Finish(model, is_changed);
  outcome.line = SummaryLine(outcome.report);
  if (has_step) {
    const bool is_float32 = settings.step.has_value() && settings.step->compute == DType::kFloat32;
    outcome.line = is_float32 ? state.step_line : absl::StrCat(state.step_line, "; ", outcome.line);
  }
  if (!state.freed_line.empty()) outcome.line = absl::StrCat(state.freed_line, "; ", outcome.line);
  if (sequence.has_stopped()) {
    outcome.line = absl::StrCat("Stopped after ", StageName(*settings.stop_after));
    if (!is_changed) outcome.report.unchanged_because = "nothing was changed up to there";
  }
  outcome.stages += sequence.NamesNotReached();
  outcome.model = std::move(state.graph);
  return std::move(outcome);
}

absl::StatusOr<DecidedModel> DecideModel(LoadedFile& file, std::shared_ptr<const OpSignatures> signatures,
                                         const OpLists& lists, const RewriteSettings& settings) {
  RewriteSettings up_to_decision = settings;
  up_to_decision.stop_after = Stage::kPaint;
  up_to_decision.print_after.clear();
  RewriteState state(file, std::move(signatures), lists, up_to_decision);
  AMP_RETURN_IF_ERROR(Sequence(state).Run());
  if (!state.decision.has_value()) return UsageError("expected a model that is to become low in part, found none");
  state.model().Commit();
  return DecidedModel{std::move(state.graph), *std::move(state.decision)};
}

}  // namespace amp
