#include "passes/decide/replace_batch_norms.h"

#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ir/base/convert.h"
#include "ir/base/status.h"
#include "ir/graph/node_paths.h"
#include "ir/patterns/batch_norm.h"
#include "ir/patterns/linear_producer.h"
#include "ir/patterns/replace_batch_norm.h"
#include "passes/guard/guard_constants.h"

namespace amp {
namespace {

// Rounds elements that are subnormal in the low type. Such an addend is rounded at least as finely as the result that
// it is added to, so nothing of importance is lost. Rounded now, it is not taken for one that vanishes.
void RoundSubnormals(FloatTensor& addend, DType low) {
  for (float& element : addend.elements) {
    NarrowingStats stats;
    SurveyNarrowing(absl::MakeConstSpan(&element, 1), low, stats);
    if (stats.underflow + stats.subnormal > 0) element = WidenOne(NarrowOne(element, low), low);
  }
}

// Returns the list row that keeps the replacement of a node from being as low as the node would be.
Reason ObstacleInLists(const OpLists& lists) {
  for (const absl::string_view op : OperatorsOfStandIns()) {
    const OpRow* row = lists.Find("", op, [](const OpCondition&) { return std::nullopt; });
    const bool is_barrier = row == nullptr || row->op_class == OpClass::kUnlisted;
    if (is_barrier) return absl::StrCat(op, " is on no list");
    if (row->op_class == OpClass::kDeny) return absl::StrCat(op, " is denied (", Escaped(row->origin), ")");
  }
  return Reason::None();
}

struct NormOutcome {
  std::optional<NormReplacement> done;
  std::string words;  // how, or why not
};

class NormReplacer {
 public:
  NormReplacer(Model& model, const Decision& decision, const DecisionInputs& inputs)
      : model_(model),
        decision_(decision),
        held_(NodesHeldByOneGuard(model, decision)),
        settings_(inputs.settings),
        obstacle_(ObstacleInLists(inputs.lists)) {}

  bool IsLow(NodeId node) const {
    const VertexId vertex = decision_.graph.OfOutput(node, 0);
    return vertex != kNone && decision_.paint[vertex].low;
  }

  // Whether it is float32 because the operator ahead is, which its own weights may be the reason for.
  bool IsBehindHeld(NodeId norm) const {
    const NodeId ahead = model_.value(model_.node(norm).Input(0)).producer;
    const VertexId vertex = decision_.graph.OfOutput(norm, 0);
    return ahead != kNone && held_.contains(ahead) && vertex != kNone &&
           decision_.paint[vertex].reason.kind == ReasonKind::kDeniedByPath;
  }

  // Folds a norm that is not low into an operator that would be low then. Nothing else is done with such a norm.
  absl::StatusOr<NormOutcome> FoldIntoHeld(NodeId norm) {
    const std::optional<ScaleAndShift> formula = ReadScaleAndShift(model_, norm);
    const auto producer = FindLinearProducer(model_, model_.node(norm).Input(0), norm);
    if (!formula.has_value() || !producer.has_value()) return NormOutcome();
    AMP_ASSIGN_OR_RETURN(const FloatTensor weights,
                         MapConstant(model_, producer->weights, [](int64_t, double x) { return x; }));
    if (WhyUnfit("", weights).empty()) return NormOutcome();  // the guard is about something else
    return Fold(norm, *formula, *producer);
  }

  absl::StatusOr<NormOutcome> Replace(NodeId norm) {
    const std::optional<ScaleAndShift> formula = ReadScaleAndShift(model_, norm);
    if (!formula.has_value()) return NormOutcome{std::nullopt, "its statistics give a factor that is not finite"};
    AMP_ASSIGN_OR_RETURN(NormOutcome folded, FoldIfLow(norm, *formula));
    if (folded.done.has_value()) return folded;
    if (obstacle_) return NormOutcome{std::nullopt, obstacle_.sentence()};
    ScaleAndShiftTensors tensors = ShapeLikeData(model_, norm, *formula);
    RoundSubnormals(tensors.addend, settings_.low);
    const std::string name = model_.value(model_.node(norm).Output(0)).name;
    std::string why_not = WhyUnfit(absl::StrCat(name, "_factor"), tensors.factor);
    if (why_not.empty()) why_not = WhyUnfit(absl::StrCat(name, "_addend"), tensors.addend);
    if (!why_not.empty()) return NormOutcome{std::nullopt, std::move(why_not)};
    return NormOutcome{WriteAsMulAndAdd(model_, norm, tensors), "replaced by a Mul and an Add"};
  }

 private:
  absl::StatusOr<NormOutcome> FoldIfLow(NodeId norm, const ScaleAndShift& formula) {
    const auto producer = FindLinearProducer(model_, model_.node(norm).Input(0), norm);
    if (!producer || !IsLow(producer->node)) return NormOutcome();
    return Fold(norm, formula, *producer);
  }

  absl::StatusOr<NormOutcome> Fold(NodeId norm, const ScaleAndShift& formula, const LinearProducer& producer) {
    const bool fits = producer.num_channels == static_cast<int64_t>(formula.factor.size());
    if (!fits || (obstacle_ && !producer.takes_addend)) return NormOutcome();
    AMP_ASSIGN_OR_RETURN(FoldedConstants folded, amp::Fold(model_, producer, formula));
    RoundSubnormals(folded.bias, settings_.low);
    if (!WhyUnfit("", folded.weights).empty() || !WhyUnfit("", folded.bias).empty()) return NormOutcome();
    std::string how = absl::StrCat("folded into '", Escaped(model_.NodeLabel(producer.node)), "'",
                                   producer.takes_addend ? "" : " and an Add");
    return NormOutcome{FoldInto(model_, producer, norm, folded), std::move(how)};
  }

  // Returns why the guard of constants would refuse the tensor; empty if it would not.
  std::string WhyUnfit(const std::string& name, const FloatTensor& tensor) const {
    const auto is_finite = [](float x) { return std::isfinite(x); };
    if (!absl::c_all_of(tensor.elements, is_finite)) {
      return absl::StrCat("'", Escaped(name), "' would not be finite");
    }
    return JudgeElements(name, tensor.elements, settings_.low, {.max_weight_error = settings_.max_weight_error});
  }

  Model& model_;
  const Decision& decision_;
  const NodeSet held_;
  const RewriteSettings& settings_;
  const Reason obstacle_;  // to putting in nodes
};

}  // namespace

absl::StatusOr<std::vector<ReplacedNode>> ReplaceBatchNorms(Model& model, const Decision& decision,
                                                            const DecisionInputs& inputs, BatchNorms& norms) {
  NormReplacer replacer(model, decision, inputs);
  std::vector<ReplacedNode> replaced;
  std::vector<NodeId> wanted;
  absl::c_copy_if(decision.graph.order(), std::back_inserter(wanted), [&](NodeId id) {
    return norms.replaceable.contains(id) && (replacer.IsLow(id) || replacer.IsBehindHeld(id));
  });
  if (wanted.empty()) return replaced;
  const NodePaths paths = FindNodePaths(model);
  for (const NodeId id : wanted) {
    const bool is_low = replacer.IsLow(id);
    AMP_ASSIGN_OR_RETURN(NormOutcome outcome, is_low ? replacer.Replace(id) : replacer.FoldIntoHeld(id));
    if (!is_low && !outcome.done.has_value()) continue;
    norms.replaceable.erase(id);
    if (!outcome.done.has_value()) {
      norms.stay_float32.emplace(id, absl::StrCat("it cannot be replaced: ", outcome.words));
      continue;
    }
    for (const ValueId constant : outcome.done->rewritten) inputs.survey.Forget(constant);
    replaced.push_back(
        {id, outcome.done->stand_in, paths.nodes[id], decision.classes.nodes[id], std::move(outcome.words)});
  }
  return replaced;
}

}  // namespace amp
