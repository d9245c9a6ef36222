#include "passes/rewrite_model.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_format.h"
#include "ir/base/status.h"
#include "ir/functions/assign_calls.h"
#include "ir/functions/inline_functions.h"
#include "ir/functions/outline_functions.h"
#include "ir/graph/check_types.h"
#include "ir/graph/infer.h"
#include "ir/graph/shape.h"
#include "ir/graph/stated_shapes.h"
#include "ir/operators/operator_facts.h"
#include "ir/opset/opset_adapters.h"
#include "ir/schema/schema.h"
#include "passes/cast/fold_casts.h"
#include "passes/cast/insert_casts.h"
#include "passes/cast/match_norm_types.h"
#include "passes/cast/narrow_weights.h"
#include "passes/classify/classify_nodes.h"
#include "passes/classify/suggest.h"
#include "passes/guard/guard_constants.h"
#include "passes/guard/guard_structure.h"
#include "passes/record/call_record.h"
#include "passes/record/record_rewrite.h"
#include "passes/record/rewrite_record.h"
#include "passes/report/diff_models.h"
#include "passes/report/give_hints.h"
#include "passes/report/write_report.h"

namespace amp {
namespace {

constexpr OpClass kAllowed[] = {OpClass::kAllow};
constexpr OpClass kPaintable[] = {OpClass::kAllow, OpClass::kInfer, OpClass::kClear};

// The newest opset that a model is lifted to unasked: convolutions, pools, recurrent operators and many activations
// take bfloat16 from it on. Runtimes know old versions of operators longer than new ones.
constexpr int kNewestUnasked = 22;

absl::StatusOr<ReleasedIo> ResolveKeepIo(const Model& model, const KeepIo& keep) {
  const Graph& main = model.graph(kMainGraph);
  ReleasedIo released;
  released.inputs.assign(main.inputs.size(), !keep.all);
  released.outputs.assign(main.outputs.size(), !keep.all);
  for (const std::string& name : keep.names) {
    bool found = false;
    const auto hold = [&](const std::vector<ValueId>& values, std::vector<bool>& flags) {
      for (size_t i = 0; i < values.size(); ++i) {
        if (model.value(values[i]).name != name) continue;
        flags[i] = false;
        found = true;
      }
    };
    hold(main.inputs, released.inputs);
    hold(main.outputs, released.outputs);
    if (found) continue;
    std::vector<std::string> known;
    for (const auto* values : {&main.inputs, &main.outputs}) {
      for (ValueId id : *values) known.push_back(model.value(id).name);
    }
    return UsageError("--keep-io: '", Escaped(name), "' is no input or output of the graph", DidYouMean(name, known));
  }
  // An overridable default keeps its type: its initializer would have to change with it.
  for (size_t i = 0; i < main.inputs.size(); ++i) {
    if (model.value(main.inputs[i]).IsInitializer()) released.inputs[i] = false;
  }
  return released;
}

class Rewriter {
 public:
  Rewriter(Model& model, const OpLists& lists, const RewriteSettings& settings, ExternalData* external)
      : model_(model),
        lists_(lists),
        settings_(settings),
        external_(external),
        survey_(model, external, settings.low) {}

  absl::StatusOr<RewriteOutcome> Run() {
    AMP_ASSIGN_OR_RETURN(const bool is_changed, RunStages());
    if (is_changed && settings_.diff) outcome_.diff = DiffListings(before_, ListModel(model_));
    outcome_.report = writer_.Finish(model_, is_changed);
    outcome_.line = SummaryLine(outcome_.report);
    if (stopped_) {
      outcome_.line = absl::StrCat("Stopped after ", StageName(*settings_.stop_after));
      if (!is_changed) outcome_.report.unchanged_because = "nothing was changed up to there";
    }
    for (Stage stage : settings_.print_after) {
      if (shown_.contains(stage)) continue;
      absl::StrAppend(&outcome_.stages, "---- ", StageName(stage), " was not reached\n");
    }
    return std::move(outcome_);
  }

 private:
  // Whether the model was changed.
  absl::StatusOr<bool> RunStages() {
    recorder_.Begin(model_, settings_.inlined);
    writer_.Begin(model_, settings_.low, settings_.target.name);
    AMP_ASSIGN_OR_RETURN(stopped_, EndsAt(Stage::kLoad, nullptr));
    if (stopped_) return CommitEdits();
    if (settings_.freeze_initializers) model_.FreezeInitializers();
    InferTypes(model_);
    type_faults_ = FindTypeFaults(model_);
    type_warning_ = Describe(model_, type_faults_);
    AMP_ASSIGN_OR_RETURN(released_, ResolveKeepIo(model_, settings_.keep_io));
    const auto& inputs = model_.graph(kMainGraph).inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (released_.inputs[i]) released_inputs_.insert(inputs[i]);
    }
    writer_.Begin(model_, settings_.low, settings_.target.name);
    if (settings_.inlined != nullptr) {
      writer_.RecordFunctions(*settings_.inlined);
      MarkCalls(model_, *settings_.inlined);
    }
    RestoreFunctionNames(model_);
    if (Origins() == nullptr) RestoreCalls(model_);
    if (settings_.diff) before_ = ListModel(model_);
    AMP_ASSIGN_OR_RETURN(stopped_, EndsAt(Stage::kInfer, [&] { return ShowTypes(model_); }));
    if (stopped_) return CommitEdits();

    if (UnifyOpset(model_, settings_.highest_opset_import)) InferTypes(model_);
    AMP_RETURN_IF_ERROR(LiftIfAsked());
    const int wanted = std::max(OpsetForLowTypes(kNewestUnasked), OpsetForCasts());
    if (wanted > 0 && model_.opset("") == 0) {
      ImportOnnx(model_, wanted);
      InferTypes(model_);
    }
    if (wanted > 0) AMP_RETURN_IF_ERROR(LiftTo(wanted));
    AMP_RETURN_IF_ERROR(Analyse());
    AMP_RETURN_IF_ERROR(ReportUnmatchedRules());
    if (const int for_statistics = OpsetForLowStatistics(); for_statistics > 0) {
      AMP_RETURN_IF_ERROR(LiftTo(for_statistics));
      AMP_RETURN_IF_ERROR(Analyse());
    }
    if (std::string why = ObstacleToCasts(model_, settings_.low); !why.empty()) {
      model_.AddWarning(absl::StrCat("nothing is converted: ", why));
    }
    AMP_RETURN_IF_ERROR(ShowDecisions());
    writer_.ExplainNodes(model_, classes_, *graph_, paint_);
    const auto device = settings_.target.promises.find("device");
    const bool has_tensor_cores = device == settings_.target.promises.end() || device->second == "cuda";
    if (has_tensor_cores) writer_.AddHints(HintAtDimensions(model_, *graph_, paint_));
    writer_.AddHints(HintAtOpset(model_, *graph_, paint_));
    if (stopped_) return CommitEdits();
    const auto is_low = [](const VertexPaint& paint) { return paint.low; };
    if (std::none_of(paint_.begin(), paint_.end(), is_low)) return false;
    AMP_RETURN_IF_ERROR(Apply());
    return true;
  }

  // Whether there is anything to write that is not in the file.
  bool CommitEdits() {
    model_.Commit();
    return settings_.came_edited || model_.edited();
  }

  // The analysis is made whole before it is shown, since a look at it may ask for another opset.
  absl::Status ShowDecisions() {
    AMP_ASSIGN_OR_RETURN(stopped_, EndsAt(Stage::kLift, nullptr));
    if (stopped_) return absl::OkStatus();
    AMP_ASSIGN_OR_RETURN(stopped_, EndsAt(Stage::kClassify, [&] { return ShowClasses(model_, classes_); }));
    if (stopped_) return absl::OkStatus();
    AMP_ASSIGN_OR_RETURN(stopped_, EndsAt(Stage::kGuard, [&] { return ShowVetoes(model_, *graph_, vetoes_); }));
    if (stopped_) return absl::OkStatus();
    AMP_ASSIGN_OR_RETURN(stopped_, EndsAt(Stage::kPaint, [&] { return ShowPaint(model_, *graph_, paint_); }));
    return absl::OkStatus();
  }

  // Shows the stage if asked to (the model where `show` is null); returns whether it is the last one.
  absl::StatusOr<bool> EndsAt(Stage stage, const std::function<std::string()>& show) {
    if (settings_.on_stage) AMP_RETURN_IF_ERROR(settings_.on_stage(stage));
    const auto& wanted = settings_.print_after;
    if (std::find(wanted.begin(), wanted.end(), stage) != wanted.end()) {
      shown_.insert(stage);
      if (show != nullptr) {
        outcome_.stages += show();
      } else {
        AMP_ASSIGN_OR_RETURN(const std::string text, ShowModel(stage, model_));
        outcome_.stages += text;
      }
    }
    return settings_.stop_after == stage;
  }

  absl::Status LiftIfAsked() {
    if (settings_.opset.kind != OpsetChoice::Kind::kFixed) return absl::OkStatus();
    const int wanted = settings_.opset.version;
    if (wanted < model_.opset("")) {
      return UsageError("--opset ", wanted, ": the model has opset ", model_.opset(""), "; it can only be raised");
    }
    std::string blocking;
    const int reachable = ReachableOpset(model_, wanted, &blocking);
    if (reachable < wanted) {
      const std::string remedy =
          absl::StrCat("; --opset ", reachable == model_.opset("") ? "keep" : absl::StrCat(reachable), " works");
      return UsageError("--opset ", wanted, ": only ", reachable, " can be reached: ", blocking, remedy);
    }
    return LiftTo(wanted);
  }

  // Lifts to `target`. Where adapters do not reach it, as far as they do if that lets an allowed operator run low.
  absl::Status LiftTo(int target) {
    std::string blocking;
    int reachable = ReachableOpset(model_, target, &blocking);
    if (reachable < target) {
      writer_.SetOpsetObstacle(absl::StrCat("opset ", target, " cannot be reached: ", blocking));
      const int for_casts = OpsetForCasts() <= reachable ? OpsetForCasts() : 0;
      if (HighestOpening(reachable, kAllowed) == 0 && for_casts == 0) return absl::OkStatus();
      reachable = ReachableOpset(model_, std::max(HighestOpening(reachable, kPaintable), for_casts), nullptr);
    }
    const NodeId first_made = model_.num_nodes();
    AMP_RETURN_IF_ERROR(LiftOpset(model_, reachable));
    InferTypes(model_);
    type_faults_ = FindSameFaults(model_, type_faults_, first_made);
    return absl::OkStatus();
  }

  // The lowest opset <= `limit` at which nodes of these classes take the low type wherever one <= `limit` lets them; 0
  // when none of them gains.
  int HighestOpening(int limit, absl::Span<const OpClass> of) const {
    const NodeClasses classes = ClassifyNodes(model_, lists_, settings_.target.promises);
    OpsetsThatOpen opsets(model_, settings_.low, limit);
    int highest = 0;
    for (NodeId id = 0; id < model_.num_nodes(); ++id) {
      if (model_.node(id).erased || !absl::c_linear_search(of, classes.nodes[static_cast<size_t>(id)].op_class))
        continue;
      highest = std::max(highest, opsets.For(id));
    }
    return highest;
  }

  // float16 is known by almost every version of an operator; bfloat16 is not.
  int OpsetForLowTypes(int limit) const {
    const bool is_wanted = settings_.opset.kind == OpsetChoice::Kind::kAuto && settings_.low == DType::kBfloat16;
    if (!is_wanted || model_.opset("") == 0 || model_.opset("") >= limit) return 0;
    return HighestOpening(limit, kPaintable);
  }

  // Operators of other domains take the low type at opsets whose casts do not; 0 when none does, or casts do. Without
  // an import of ai.onnx none of its nodes is there, and any version does.
  int OpsetForCasts() const {
    const bool is_wanted = settings_.opset.kind == OpsetChoice::Kind::kAuto;
    if (!is_wanted || ObstacleToCasts(model_, settings_.low).empty()) return 0;
    const bool has_import = model_.opset("") > 0;
    if (!has_import && !MayImportOnnx(model_)) return 0;
    const int first = FirstOpsetWithCasts(has_import ? settings_.low : DType::kBfloat16);
    return model_.opset("") < first && AnyForeignTakesLow() ? first : 0;
  }

  bool AnyForeignTakesLow() const {
    const NodeClasses classes = ClassifyNodes(model_, lists_, settings_.target.promises);
    for (NodeId id = 0; id < model_.num_nodes(); ++id) {
      const Node& node = model_.node(id);
      if (node.erased || node.schema == nullptr || node.domain().empty()) continue;
      if (!absl::c_linear_search(kPaintable, classes.nodes[static_cast<size_t>(id)].op_class)) continue;
      for (size_t port = 0; port < node.inputs.size(); ++port) {
        if (node.inputs[port] == kNone) continue;
        const bool takes_low = node.schema->Allows(node.schema->InputVariable(static_cast<int>(port)), settings_.low);
        if (takes_low && model_.value(node.inputs[port]).dtype == DType::kFloat32) return true;
      }
    }
    return false;
  }

  // TensorFlow's plain rules leave statistics in float32; importers of models want one type for all.
  Statistics StatisticsType() const {
    return settings_.guards == Guards::kNone ? Statistics::kKeepTheirType : Statistics::kFollowInput;
  }

  // float16 keeps the model's opset unless a converted operator would force its statistics into 16 bits there, and they
  // are to keep their type.
  int OpsetForLowStatistics() const {
    int wanted = 0;
    if (settings_.opset.kind != OpsetChoice::Kind::kAuto || StatisticsType() == Statistics::kFollowInput) return wanted;
    for (VertexId v = 0; v < graph_->size(); ++v) {
      if (paint_[static_cast<size_t>(v)].low) {
        wanted = std::max(wanted, OpsetWithSeparateStatistics(model_.node((*graph_)[v].node)));
      }
    }
    return wanted;
  }

  // Each Softmax whose result becomes an output of the model, on the way only moved by clear operators.
  absl::flat_hash_set<NodeId> FindLastSoftmaxes() const {
    const std::vector<ValueId>& outputs = model_.graph(kMainGraph).outputs;
    std::vector<ValueId> stack(outputs.begin(), outputs.end());
    absl::flat_hash_set<NodeId> seen, found;
    while (!stack.empty()) {
      const ValueId value = stack.back();
      stack.pop_back();
      const NodeId id = value == kNone ? kNone : model_.value(value).producer;
      if (id == kNone || model_.value(value).producer_port != 0 || !seen.insert(id).second) continue;
      if (IsSoftmax(model_.node(id))) {
        found.insert(id);
      } else if (classes_.nodes[static_cast<size_t>(id)].op_class == OpClass::kClear) {
        stack.insert(stack.end(), model_.node(id).inputs.begin(), model_.node(id).inputs.end());
      }
    }
    return found;
  }

  void CollectTraits() {
    classes_ = ClassifyNodes(model_, lists_, settings_.target.promises);
    traits_.assign(static_cast<size_t>(model_.num_nodes()), {});
    absl::flat_hash_set<NodeId> last_softmaxes;
    if (settings_.last_softmax_stays) last_softmaxes = FindLastSoftmaxes();
    absl::flat_hash_map<NodeId, const TypeFault*> faults;
    for (const TypeFault& fault : type_faults_) faults.try_emplace(fault.node, &fault);
    for (NodeId id = 0; id < model_.num_nodes(); ++id) {
      if (model_.node(id).erased) continue;
      const Classification& c = classes_.nodes[static_cast<size_t>(id)];
      NodeTraits& trait = traits_[static_cast<size_t>(id)];
      trait.op_class = c.op_class;
      trait.is_cast = IsCast(model_.node(id));
      trait.may_be_forced = !IsLossOrStateful(model_.node(id)) && model_.node(id).op_type() != "Constant";
      if (c.rule != nullptr && c.op_class == OpClass::kAllow) trait.forced_allow = true;
      if (c.rule != nullptr && c.op_class == OpClass::kDeny) {
        trait.op_class = c.row == nullptr ? OpClass::kUnlisted : c.row->op_class;  // still carries a denial on
        trait.processed = false;
        trait.not_processed_why = absl::StrCat("excluded by ", Escaped(c.rule->origin));
        if (c.call >= 0) {
          const std::string& call = model_.call(c.call).label;
          absl::StrAppend(&trait.not_processed_why, ": inlined from '", Escaped(call), "', a call of ",
                          Escaped(model_.call(c.call).FunctionName()));
        }
      }
      if (const auto fault = faults.find(id); fault != faults.end()) {
        trait.processed = false;
        trait.not_processed_why = absl::StrCat("its types are not valid: ", Describe(model_, *fault->second));
      }
      if (HasMalformedFill(model_.node(id))) {
        trait.processed = false;
        trait.not_processed_why = "its attribute 'value' has not exactly one element";
      }
      if (!trait.forced_allow && last_softmaxes.contains(id)) {
        trait.op_class = OpClass::kDeny;
        trait.processed = false;
        trait.not_processed_why = "the last Softmax stays float32 under a mixed policy";
      }
      const auto& outputs = model_.node(id).outputs;
      const auto is_public = [&](ValueId out) { return out != kNone && model_.IsModelOutput(out); };
      if (settings_.preserve == Preserve::kNode && std::any_of(outputs.begin(), outputs.end(), is_public)) {
        trait.processed = false;
        trait.not_processed_why = "preserved: it produces a graph output (--preserve node)";
      }
    }
  }

  absl::Status ReportUnmatchedRules() {
    for (std::string& sentence : DescribeUnmatchedRules(model_, lists_, classes_)) {
      if (settings_.strict) return UsageError(sentence);
      model_.AddWarning(std::move(sentence));
    }
    return absl::OkStatus();
  }

  // Raising the IR version takes the constants among the inputs away, and with them the others' positions.
  void UpdateReleasedInputs() {
    released_.inputs.clear();
    for (ValueId id : model_.graph(kMainGraph).inputs) released_.inputs.push_back(released_inputs_.contains(id));
  }

  absl::Status Analyse() {
    UpdateReleasedInputs();
    CollectTraits();
    graph_.emplace(model_, settings_.low, StatisticsType());
    vetoes_.clear();
    if (settings_.guards != Guards::kNone && HasSeed()) {
      if (settings_.guards == Guards::kAll) {
        vetoes_ = GuardStructure(model_, *graph_, traits_, settings_.target.promises, external_);
      }
      ConstantGuardOptions options;
      options.max_weight_error = settings_.max_weight_error;
      AMP_ASSIGN_OR_RETURN(const std::vector<Veto> more, GuardConstants(model_, *graph_, traits_, survey_, options));
      vetoes_.insert(vetoes_.end(), more.begin(), more.end());  // a constant's numbers say most: they are told last
    }
    PaintOptions options = settings_.paint;
    options.follow = lists_.follow();
    options.target_can_run = settings_.target.can_run_low;
    paint_ = PaintGraph(model_, *graph_, traits_, vetoes_, released_.outputs, options);
    if (settings_.guards != Guards::kNone) MatchNormTypes(model_, *graph_, released_, external_, paint_);
    return absl::OkStatus();
  }

  // What is to be turned into functions again; null for nothing.
  const InlineOrigins* Origins() const {
    return settings_.inlined == nullptr ? nullptr : settings_.inlined->origins.get();
  }

  bool HasSeed() const {
    if (settings_.paint.level == Level::kUnsafeForceAll) return true;
    for (VertexId v = 0; v < graph_->size(); ++v) {
      const Vertex& vertex = (*graph_)[v];
      const NodeTraits& trait = traits_[static_cast<size_t>(vertex.node)];
      if (trait.op_class == OpClass::kAllow && trait.processed && vertex.is_high && vertex.can_be_low) return true;
    }
    return false;
  }

  absl::Status Apply() {
    AMP_ASSIGN_OR_RETURN(std::vector<std::string> overflows, DescribeOverflows(model_, *graph_, paint_, survey_));
    for (std::string& sentence : overflows) model_.AddWarning(std::move(sentence));
    for (const std::string& warning : {type_warning_, DescribeContradictions(model_), settings_.removed_attributes}) {
      if (!warning.empty()) model_.AddWarning(warning);
    }
    recorder_.BeforeCasts(model_);
    const CastPlan plan = PlanCasts(model_, *graph_, paint_, released_, settings_.low);
    writer_.RecordIo(model_, *graph_, paint_, plan, released_);
    const ReaderNames names(model_);
    std::vector<InsertedCast> casts = ApplyCasts(model_, plan, settings_.low);
    AMP_ASSIGN_OR_RETURN(stopped_, EndsAt(Stage::kCasts, nullptr));
    if (stopped_) return absl::OkStatus();  // a dry run: see ObstacleToStopping
    AMP_ASSIGN_OR_RETURN(NarrowedWeights narrowed, NarrowWeights(model_, names, plan, settings_.low, settings_.weights,
                                                                 survey_, external_, outcome_.pending));
    UpdateTypeAttributes(model_, *graph_, paint_);  // after the weights: a missing output_dtype means the scale's type
    casts.insert(casts.end(), narrowed.casts.begin(), narrowed.casts.end());
    AMP_ASSIGN_OR_RETURN(stopped_, EndsAt(Stage::kWeights, nullptr));
    FoldedCasts folded;
    if (!stopped_) folded = FoldCasts(model_);
    AddCopies(folded.copies, casts);
    const InlineOrigins* origins = Origins();
    if (origins == nullptr) RecordCalls(model_, classes_, nullptr);
    std::string unrecorded = "--functions specialise leaves no record";
    if (origins != nullptr) {
      AddCopies(AssignCasts(model_, *origins), casts);
      RemoveRecord(model_);
    } else {
      unrecorded = recorder_.Finish(model_, settings_.low, casts, narrowed.weights);
    }
    if (!unrecorded.empty()) {
      writer_.AddAdvice(absl::StrCat("--policy float32 cannot take this rewrite back: ", unrecorded));
    }
    TellReaders(names, casts);
    writer_.RecordRemovedCasts(model_, folded.erased);
    writer_.RecordCasts(model_, casts);
    writer_.RecordWeights(std::move(narrowed.weights));
    model_.Commit();
    AMP_RETURN_IF_ERROR(CheckTypes(model_, type_faults_));
    if (stopped_) return absl::OkStatus();
    AMP_ASSIGN_OR_RETURN(stopped_, EndsAt(Stage::kFold, nullptr));
    if (stopped_ || origins == nullptr) return absl::OkStatus();
    AMP_ASSIGN_OR_RETURN(const OutlinedFunctions outlined, OutlineFunctions(model_, *origins, outcome_.pending));
    writer_.RecordOutlined(outlined);
    RecordCalls(model_, classes_, &outlined);
    return absl::OkStatus();
  }

  static void AddCopies(const std::vector<std::pair<NodeId, NodeId>>& copies, std::vector<InsertedCast>& casts) {
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
  void TellReaders(const ReaderNames& names, std::vector<InsertedCast>& casts) const {
    for (InsertedCast& cast : casts) {
      if (model_.node(cast.node).erased) continue;
      cast.readers.clear();
      for (const Use& use : model_.value(model_.node(cast.node).Output(0)).uses) {
        cast.readers.push_back(names.Of(use));
      }
    }
  }

  Model& model_;
  const OpLists& lists_;
  const RewriteSettings& settings_;
  ExternalData* external_;
  ConstantSurvey survey_;
  ReportWriter writer_;
  RewriteRecorder recorder_;
  std::vector<TypeFault> type_faults_;  // of the input, and of what a lift makes of it
  std::string type_warning_;
  ReleasedIo released_;
  absl::flat_hash_set<ValueId> released_inputs_;
  NodeClasses classes_;
  std::vector<NodeTraits> traits_;
  std::optional<VertexGraph> graph_;
  std::vector<VertexPaint> paint_;
  std::vector<Veto> vetoes_;
  ModelListing before_;
  absl::flat_hash_set<Stage> shown_;
  bool stopped_ = false;
  RewriteOutcome outcome_;
};

}  // namespace

absl::StatusOr<RewriteOutcome> RewriteModel(Model& model, const OpLists& lists, const RewriteSettings& settings,
                                            ExternalData* external) {
  return Rewriter(model, lists, settings, external).Run();
}

}  // namespace amp
