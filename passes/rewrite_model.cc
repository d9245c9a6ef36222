#include "passes/rewrite_model.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_format.h"
#include "ir/infer.h"
#include "ir/operator_facts.h"
#include "ir/opset_adapters.h"
#include "ir/schema.h"
#include "ir/shape.h"
#include "ir/status.h"
#include "ir/undeclared_attributes.h"
#include "passes/classify_nodes.h"
#include "passes/diff_models.h"
#include "passes/fold_casts.h"
#include "passes/guard_constants.h"
#include "passes/guard_structure.h"
#include "passes/insert_casts.h"
#include "passes/narrow_weights.h"
#include "passes/suggest.h"
#include "passes/write_report.h"

namespace amp {
namespace {

// bfloat16 needs opset 22 for convolutions, pools, recurrent operators and many activations.
constexpr int kBfloat16Opset = 22;

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
    if (settings_.freeze_initializers) model_.FreezeInitializers();
    InferTypes(model_);
    AMP_ASSIGN_OR_RETURN(released_, ResolveKeepIo(model_, settings_.keep_io));
    writer_.Begin(model_, settings_.low, settings_.target.name);
    if (settings_.inlined != nullptr) writer_.RecordFunctions(*settings_.inlined);
    ModelListing before;
    if (settings_.diff) before = ListModel(model_);

    if (UnifyOpset(model_, settings_.highest_opset_import)) InferTypes(model_);
    AMP_RETURN_IF_ERROR(LiftIfAsked());
    if (WantsBfloat16Opset()) AMP_RETURN_IF_ERROR(LiftTo(kBfloat16Opset));
    AMP_RETURN_IF_ERROR(Analyse());
    AMP_RETURN_IF_ERROR(ReportUnmatchedRules());
    if (const int wanted = OpsetForLowStatistics(); wanted > 0) {
      AMP_RETURN_IF_ERROR(LiftTo(wanted));
      AMP_RETURN_IF_ERROR(Analyse());
    }
    if (std::string why = ObstacleToCasts(model_); !why.empty()) {
      model_.AddWarning(absl::StrCat("nothing is converted: ", why));
    }
    writer_.ExplainNodes(model_, classes_, *graph_, paint_);
    const auto is_low = [](const VertexPaint& paint) { return paint.low; };
    if (std::none_of(paint_.begin(), paint_.end(), is_low)) {
      outcome_.report = writer_.Finish(model_, false);
      return std::move(outcome_);
    }
    AMP_RETURN_IF_ERROR(Apply());
    if (settings_.diff) outcome_.diff = DiffListings(before, ListModel(model_));
    outcome_.report = writer_.Finish(model_, true);
    return std::move(outcome_);
  }

 private:
  absl::Status LiftIfAsked() {
    if (settings_.opset.kind != OpsetChoice::Kind::kFixed) return absl::OkStatus();
    const int wanted = settings_.opset.version;
    if (wanted < model_.opset("")) {
      return UsageError("--opset ", wanted, ": the model has opset ", model_.opset(""), "; it can only be raised");
    }
    std::string blocking;
    const int reachable = ReachableOpset(model_, wanted, &blocking);
    if (reachable < wanted) return UsageError("--opset ", wanted, ": only ", reachable, " can be reached: ", blocking);
    return LiftTo(wanted);
  }

  // Lifts to `target`. Where adapters do not reach it, as far as they do if that lets an allowed operator run low.
  absl::Status LiftTo(int target) {
    std::string blocking;
    const int reachable = ReachableOpset(model_, target, &blocking);
    if (reachable < target) {
      writer_.SetOpsetObstacle(absl::StrCat("opset ", target, " cannot be reached: ", blocking));
      if (!HelpsAllowedOperators(reachable)) return absl::OkStatus();
    }
    AMP_RETURN_IF_ERROR(LiftOpset(model_, reachable));
    InferTypes(model_);
    return absl::OkStatus();
  }

  bool HelpsAllowedOperators(int opset) const {
    const NodeClasses classes = ClassifyNodes(model_, lists_, settings_.target.promises);
    for (NodeId id = 0; id < model_.num_nodes(); ++id) {
      const Node& node = model_.node(id);
      if (node.erased) continue;
      const bool is_allowed = classes.nodes[static_cast<size_t>(id)].op_class == OpClass::kAllow;
      if (!is_allowed || node.schema == nullptr || node.schema->num_inputs() == 0 || !node.domain().empty()) continue;
      const OpSchema* newer = FindOpSchema("", node.op_type(), opset);
      const int variable = node.schema->InputVariable(0);
      if (newer != nullptr && !node.schema->Allows(variable, settings_.low) &&
          newer->Allows(newer->InputVariable(0), settings_.low)) {
        return true;
      }
    }
    return false;
  }

  bool WantsBfloat16Opset() const {
    const bool is_wanted = settings_.opset.kind == OpsetChoice::Kind::kAuto && settings_.low == DType::kBfloat16;
    return is_wanted && model_.opset("") > 0 && model_.opset("") < kBfloat16Opset;
  }

  // float16 keeps the model's opset unless a converted operator would force its statistics into 16 bits there.
  int OpsetForLowStatistics() const {
    int wanted = 0;
    if (settings_.opset.kind != OpsetChoice::Kind::kAuto) return wanted;
    for (VertexId v = 0; v < graph_->size(); ++v) {
      if (paint_[static_cast<size_t>(v)].low) {
        wanted = std::max(wanted, OpsetWithSeparateStatistics(model_.node((*graph_)[v].node)));
      }
    }
    return wanted;
  }

  // Whether `id` is a Softmax whose result becomes a graph output, on the way only moved by clear operators.
  bool EndsInSoftmax(NodeId id) const {
    if (!IsSoftmax(model_.node(id))) return false;
    std::vector<NodeId> stack = {id};
    absl::flat_hash_set<NodeId> seen = {id};
    while (!stack.empty()) {
      const ValueId out = model_.node(stack.back()).outputs[0];
      stack.pop_back();
      if (out == kNone) continue;
      for (const Use& use : model_.value(out).uses) {
        if (use.IsGraphOutput()) return true;
        const bool only_moves = classes_.nodes[static_cast<size_t>(use.node)].op_class == OpClass::kClear;
        if (only_moves && !model_.node(use.node).outputs.empty() && seen.insert(use.node).second) {
          stack.push_back(use.node);
        }
      }
    }
    return false;
  }

  void CollectTraits() {
    classes_ = ClassifyNodes(model_, lists_, settings_.target.promises);
    traits_.assign(static_cast<size_t>(model_.num_nodes()), {});
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
      }
      if (HasMalformedFill(model_.node(id))) {
        trait.processed = false;
        trait.not_processed_why = "its attribute 'value' has not exactly one element";
      }
      if (settings_.last_softmax_stays && !trait.forced_allow && EndsInSoftmax(id)) {
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
    for (std::string& sentence : DescribeUnmatchedRules(lists_, classes_)) {
      if (settings_.strict) return UsageError(sentence);
      model_.AddWarning(std::move(sentence));
    }
    return absl::OkStatus();
  }

  absl::Status Analyse() {
    CollectTraits();
    graph_.emplace(model_, settings_.low);
    std::vector<Veto> vetoes;
    if (settings_.guards != Guards::kNone && HasSeed()) {
      if (settings_.guards == Guards::kAll) {
        vetoes = GuardStructure(model_, *graph_, traits_, settings_.target.promises, external_);
      }
      ConstantGuardOptions options;
      options.max_weight_error = settings_.max_weight_error;
      AMP_ASSIGN_OR_RETURN(const std::vector<Veto> more, GuardConstants(model_, *graph_, traits_, survey_, options));
      vetoes.insert(vetoes.end(), more.begin(), more.end());  // a constant's numbers say most: they are told last
    }
    PaintOptions options = settings_.paint;
    options.follow = lists_.follow();
    options.target_can_run = settings_.target.can_run_low;
    paint_ = PaintGraph(model_, *graph_, traits_, vetoes, released_.outputs, options);
    return absl::OkStatus();
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
    RemoveUndeclaredAttributes(model_);
    const CastPlan plan = PlanCasts(model_, *graph_, paint_, released_, settings_.low);
    std::vector<InsertedCast> casts = ApplyCasts(model_, *graph_, paint_, plan, settings_.low);
    AMP_ASSIGN_OR_RETURN(NarrowedWeights narrowed, NarrowWeights(model_, plan, settings_.low, settings_.weights,
                                                                 survey_, external_, outcome_.pending));
    casts.insert(casts.end(), narrowed.casts.begin(), narrowed.casts.end());
    writer_.RecordRemovedCasts(model_, FoldCasts(model_));
    writer_.RecordCasts(model_, casts);
    writer_.RecordWeights(std::move(narrowed.weights));
    model_.Commit();
    return CheckTypes(model_);
  }

  Model& model_;
  const OpLists& lists_;
  const RewriteSettings& settings_;
  ExternalData* external_;
  ConstantSurvey survey_;
  ReportWriter writer_;
  ReleasedIo released_;
  NodeClasses classes_;
  std::vector<NodeTraits> traits_;
  std::optional<VertexGraph> graph_;
  std::vector<VertexPaint> paint_;
  RewriteOutcome outcome_;
};

}  // namespace

absl::StatusOr<RewriteOutcome> RewriteModel(Model& model, const OpLists& lists, const RewriteSettings& settings,
                                            ExternalData* external) {
  return Rewriter(model, lists, settings, external).Run();
}

}  // namespace amp
