#include "passes/sequence/apply_decision.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/functions/assign_calls.h"
#include "ir/functions/outline_functions.h"
#include "ir/graph/count_exponents.h"
#include "ir/graph/stated_shapes.h"
#include "passes/guard/guard_constants.h"
#include "passes/record/call_record.h"
#include "passes/record/rewrite_record.h"
#include "passes/report/annotate_nodes.h"
#include "passes/train/make_step.h"
#include "passes/train/step_metadata.h"

namespace amp {
namespace {

// A copy of a cast of ours is one of ours.
void AddCopies(const std::vector<std::pair<NodeId, NodeId>>& copies, std::vector<InsertedCast>& casts) {
  if (copies.empty()) return;
  absl::flat_hash_map<NodeId, size_t> position;
  for (size_t i = 0; i < casts.size(); ++i) position[casts[i].node] = i;
  for (const auto& [original, copy] : copies) {
    const auto it = position.find(original);
    if (it == position.end()) continue;
    InsertedCast made = casts[it->second];
    made.node = copy;
    casts.push_back(std::move(made));
  }
}

// Who reads the casts in the end.
void NameReaders(const Model& model, const ReaderNames& names, std::vector<InsertedCast>& casts) {
  for (InsertedCast& cast : casts) {
    if (model.node(cast.node).erased) continue;
    cast.readers.clear();
    for (const Use& use : model.value(model.node(cast.node).Output(0)).uses) cast.readers.push_back(names.Of(use));
  }
}

using WeightHistograms = absl::flat_hash_map<ValueId, ExponentHistogram>;

// Before weights are low. None unless a report draws them: they have to be read for it.
absl::StatusOr<WeightHistograms> HistogramsOfWeights(RewriteState& state) {
  WeightHistograms histograms;
  if (!state.settings.draw_values || state.settings.weights == WeightMode::kCast) return histograms;
  for (const CastPlan::Constant& constant : state.plan->constants) {
    AMP_ASSIGN_OR_RETURN(const ExponentCounts counts, CountExponents(state.model(), constant.value));
    histograms.emplace(constant.value, counts.Histogram());
  }
  return histograms;
}

// Without --annotate what an earlier run wrote goes: it may be true no more.
void Annotate(RewriteState& state) {
  Model& model = state.model();
  if (!state.settings.annotate) {
    RemoveAnnotations(model);
  } else if (model.ir_version() < kInitializersNeedNoInput) {
    model.AddWarning(absl::StrCat("--annotate: the model has IR version ", model.ir_version(),
                                  ", which cannot be raised "
                                  "to the 10 that metadata of nodes need: no node is annotated"));
  } else {
    state.writer.Annotate(model);
  }
}

}  // namespace

absl::Status InsertPlannedCasts(RewriteState& state) {
  Model& model = state.model();
  const Decision& decision = *state.decision;
  AMP_ASSIGN_OR_RETURN(std::vector<std::string> overflows,
                       DescribeOverflows(model, decision.graph, decision.paint, *state.survey));
  for (std::string& sentence : overflows) model.AddWarning(std::move(sentence));
  for (const std::string& warning : {state.type_warning, DescribeContradictions(model), state.removed_attributes}) {
    if (!warning.empty()) model.AddWarning(warning);
  }
  for (const ReplacedNorm& norm : state.replaced.norms) {
    if (!norm.is_for_good) state.recorder.AddUnit(norm.unit);
  }
  state.recorder.AddConstants(state.replaced.constants);
  state.recorder.BeforeCasts(model);
  state.plan = PlanCasts(model, decision.graph, decision.paint, decision.released, state.settings.low);
  state.writer.AddIo(model, decision.graph, decision.paint, *state.plan, decision.released);
  state.names.emplace(model);
  state.casts = ApplyCasts(model, *state.plan, state.settings.low);
  return absl::OkStatus();
}

absl::Status NarrowPlannedWeights(RewriteState& state) {
  Model& model = state.model();
  const RewriteSettings& settings = state.settings;
  AMP_ASSIGN_OR_RETURN(const WeightHistograms histograms, HistogramsOfWeights(state));
  AMP_ASSIGN_OR_RETURN(state.narrowed,
                       NarrowWeights(model, *state.names, *state.plan, settings.low, settings.weights, *state.survey));
  for (NarrowedWeight& weight : state.narrowed->weights) {
    if (const auto found = histograms.find(weight.value); found != histograms.end()) weight.exponents = found->second;
  }
  state.casts.insert(state.casts.end(), state.narrowed->casts.begin(), state.narrowed->casts.end());
  // After the weights: a missing output_dtype means the scale's type.
  UpdateTypeAttributes(model, state.decision->graph, state.decision->paint);
  return absl::OkStatus();
}

absl::Status FoldSuperfluousCasts(RewriteState& state) {
  state.folded = FoldCasts(state.model());
  AddCopies(state.folded.copies, state.casts);
  return absl::OkStatus();
}

absl::Status RecordEdits(RewriteState& state) {
  Model& model = state.model();
  Reason unrecorded = "--functions specialise leaves no record";
  if (state.origins() != nullptr) {
    AddCopies(AssignCasts(model, *state.origins()), state.casts);
    RemoveRecord(model);
  } else {
    RecordCalls(model, state.decision->classes, nullptr);
    unrecorded = state.recorder.Finish(model, state.settings.low, state.casts, state.narrowed->weights);
  }
  if (unrecorded) {
    state.writer.AddAdvice(absl::StrCat("--policy float32 cannot take this rewrite back: ", unrecorded.sentence()));
  }
  NameReaders(model, *state.names, state.casts);
  state.writer.AddRemovedCasts(model, state.folded.erased);
  state.writer.AddCasts(model, state.casts);
  const bool may_freeze = state.settings.weights == WeightMode::kConvert && !IsStepGraph(model.proto());
  if (may_freeze) state.writer.AdviseFreezing(model, state.casts);
  state.writer.AddWeights(std::move(state.narrowed->weights));
  Annotate(state);
  model.Commit();
  return absl::OkStatus();
}

absl::Status CheckResult(RewriteState& state) {
  AMP_RETURN_IF_ERROR(CheckMasters(state.model()));
  return CheckTypes(state.model(), state.type_faults);
}

absl::Status RestoreFunctions(RewriteState& state) {
  if (state.origins() == nullptr) return absl::OkStatus();
  AMP_ASSIGN_OR_RETURN(const OutlinedFunctions outlined, OutlineFunctions(state.model(), *state.origins()));
  state.writer.AddOutlined(outlined);
  RecordCalls(state.model(), state.decision->classes, &outlined);
  return absl::OkStatus();
}

}  // namespace amp
