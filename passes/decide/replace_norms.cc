#include "passes/decide/replace_norms.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/graph/node_paths.h"
#include "ir/operators/operator_facts.h"
#include "ir/opset/opset_adapters.h"
#include "ir/patterns/group_norm_pattern.h"
#include "ir/patterns/norm_pattern.h"

namespace amp {
namespace {

// Runtimes know old versions of operators longer than new ones: the newest opset that is lifted to for a norm.
constexpr int kNewestForNorms = 22;

// The norms that an operator could stand for, none in two of them.
std::vector<Pattern> FindNorms(const Model& model) {
  std::vector<Pattern> norms;
  IdVector<NodeId, bool> taken(model.num_nodes(), false);
  const auto is_taken = [&](NodeId id) { return taken[id]; };
  for (const auto recognise : {RecogniseGroupNorm, RecogniseNorm}) {  // a norm of groups holds one of rows
    for (const NodeId id : model.AllNodes()) {
      Recognised found = recognise(model, id);
      if (!found.found() || ObstacleToUnit(model, found.pattern())) continue;
      const std::vector<NodeId>& nodes = found.pattern().nodes;
      if (std::any_of(nodes.begin(), nodes.end(), is_taken)) continue;
      for (const NodeId node : nodes) taken[node] = true;
      norms.push_back(found.pattern());
    }
  }
  return norms;
}

// Whether what it reads, its result, or a reader of that is low.
bool IsBesideLow(const Model& model, const Decision& decision, const Pattern& norm) {
  const auto is_low = [&](VertexId v) { return v != kNone && decision.paint[v].low; };
  const ValueId result = model.node(norm.last()).Output(0);
  const auto& uses = model.value(result).uses;
  return is_low(decision.graph.OfValue(result)) || is_low(decision.graph.OfValue(norm.inputs[0])) ||
         std::any_of(uses.begin(), uses.end(),
                     [&](const Use& use) { return !use.IsGraphOutput() && is_low(decision.graph.OfUse(use)); });
}

// Whether the norm reads 16 bits through the model's own cast, as autocast exports it. ONNX Runtime fuses the cast into
// the norm, which then has a 16-bit input and a float32 scale. Its LayerNormalization takes two types below opset 17
// alone: from there on the default session refuses the model.
bool ReadsOwnCast(const Model& model, const Pattern& norm) {
  if (norm.kind != PatternKind::kLayerNorm) return false;
  const NodeId cast = model.value(norm.inputs[0]).producer;
  if (cast == kNone || !IsCast(model.node(cast)) || model.node(cast).Input(0) == kNone) return false;
  return IsLowFloat(ElementType(model.value(model.node(cast).Input(0))));
}

// Whether a lift from `before` to `after` makes ONNX Runtime refuse what ReadsOwnCast describes.
bool EntersOneTypeNorms(int before, int after) {
  const int first = OpsetOfUnit(PatternKind::kLayerNorm);
  return before < first && after >= first;
}

class NormPlanner {
 public:
  NormPlanner(const Model& model, const DecisionInputs& inputs, int opset_before)
      : model_(model), inputs_(inputs), opset_before_(opset_before) {}

  absl::StatusOr<NormPlan> Plan() {
    NormPlan plan;
    std::vector<Pattern> norms = FindNorms(model_);
    if (norms.empty()) return plan;
    const auto reads_own_cast = [&](const Pattern& norm) { return ReadsOwnCast(model_, norm); };
    const auto num_endangered = std::count_if(norms.begin(), norms.end(), reads_own_cast);
    const bool may_lift = inputs_.settings.opset.kind == OpsetChoice::Kind::kAuto;
    const int reach = may_lift ? ReachableOpset(model_, kNewestForNorms).opset : model_.opset("");
    const NodeClasses classes = ClassifyNodes(model_, inputs_.lists, inputs_.settings.target.promises);
    std::erase_if(norms, [&](const Pattern& norm) {
      return OpsetOfUnit(norm.kind) > std::max(reach, model_.opset("")) || IsNamed(norm, classes) || IsAtFault(norm);
    });
    if (norms.empty()) return plan;
    const bool can_replace_all = num_endangered == std::count_if(norms.begin(), norms.end(), reads_own_cast);

    DecisionInputs freed = inputs_;
    std::vector<NodeId> nodes;
    for (const Pattern& norm : norms) nodes.insert(nodes.end(), norm.nodes.begin(), norm.nodes.end());
    freed.freed = nodes;
    AMP_ASSIGN_OR_RETURN(const Decision decision, Decide(model_, freed));
    const auto is_low = [&](VertexId v) { return v != kNone && decision.paint[v].low; };
    for (const Pattern& norm : norms) {
      const ValueId result = model_.node(norm.last()).Output(0);
      if (is_low(decision.graph.OfValue(result))) {
        plan.lift_to = std::max(plan.lift_to, OpsetOfUnit(norm.kind));
      }
    }
    if (plan.lift_to <= model_.opset("")) plan.lift_to = 0;
    if (!can_replace_all && EntersOneTypeNorms(model_.opset(""), plan.lift_to)) plan.lift_to = 0;
    const bool saves_own = EntersOneTypeNorms(opset_before_, std::max(plan.lift_to, model_.opset("")));
    for (const Pattern& norm : norms) {
      const ValueId result = model_.node(norm.last()).Output(0);
      const bool is_endangered = saves_own && ReadsOwnCast(model_, norm);
      if (is_endangered) plan.for_good.insert(result);
      if (is_endangered || IsBesideLow(model_, decision, norm)) plan.results.insert(result);
    }
    return plan;
  }

 private:
  // By a rule for nodes or tensors, or one for a function or call that it was inlined from.
  bool IsNamed(const Pattern& norm, const NodeClasses& classes) const {
    // The third Add without a name is another one when an Add goes.
    const auto& rules = inputs_.lists.name_rules();
    const bool are_counted = std::any_of(
        rules.begin(), rules.end(), [](const NameRule& rule) { return absl::StrContains(rule.glob.pattern(), '#'); });
    return std::any_of(norm.nodes.begin(), norm.nodes.end(), [&](NodeId id) {
      const bool is_counted = are_counted && model_.node(id).name().empty();
      return is_counted || classes.nodes[id].rule != nullptr || classes.nodes[id].call != kNone;
    });
  }

  bool IsAtFault(const Pattern& norm) const {
    return std::any_of(inputs_.faults.begin(), inputs_.faults.end(), [&](const TypeFault& fault) {
      return std::find(norm.nodes.begin(), norm.nodes.end(), fault.node) != norm.nodes.end();
    });
  }

  const Model& model_;
  const DecisionInputs& inputs_;
  const int opset_before_;
};

}  // namespace

absl::StatusOr<NormPlan> PlanNorms(const Model& model, const DecisionInputs& inputs, int opset_before) {
  return NormPlanner(model, inputs, opset_before).Plan();
}

ReplacedNorms ReplaceNorms(Model& model, const NormPlan& plan) {
  ReplacedNorms replaced;
  if (plan.results.empty()) return replaced;
  const NodePaths paths = FindNodePaths(model);
  for (const Pattern& norm : FindNorms(model)) {
    const bool is_wanted = plan.results.contains(model.node(norm.last()).Output(0));
    if (!is_wanted || OpsetOfUnit(norm.kind) > model.opset("")) continue;
    ReplacedNorm made;
    for (const NodeId id : norm.nodes) made.nodes.push_back(paths.nodes[id]);
    made.is_for_good = plan.for_good.contains(model.node(norm.last()).Output(0));
    made.unit = MakeUnit(model, norm);
    replaced.norms.push_back(std::move(made));
  }
  if (replaced.norms.empty()) return replaced;
  model.SetOpset("", model.opset(""));         // looks schemas up
  const NodePaths now = FindNodePaths(model);  // the node that stays may have got a name
  std::vector<UnitOperator*> units, for_good;
  for (ReplacedNorm& norm : replaced.norms) {
    norm.path = now.nodes[norm.unit.node];
    (norm.is_for_good ? for_good : units).push_back(&norm.unit);
  }
  replaced.constants = TakeUnreadConstants(model, units);
  TakeUnreadConstants(model, for_good);
  return replaced;
}

std::string WarnOfNormsOverOwnCasts(const Model& model, int opset_before) {
  if (!EntersOneTypeNorms(opset_before, model.opset(""))) return "";
  for (const Pattern& norm : FindNorms(model)) {
    if (!ReadsOwnCast(model, norm)) continue;
    return absl::StrCat("opset ", model.opset(""), " and the norm that ends in '",
                        Escaped(model.NodeLabel(norm.last())),
                        "', which reads 16 bits through the model's own cast: ONNX Runtime's default optimisations "
                        "fuse the two to an invalid LayerNormalization and refuse the model; below opset ",
                        OpsetOfUnit(PatternKind::kLayerNorm), ", or with the norm replaced, it loads");
  }
  return "";
}

std::vector<std::string> HintAtNorms(const Model& model, const Decision& decision) {
  std::map<std::pair<int, absl::string_view>, size_t> counts;  // by opset and operator
  for (const Pattern& norm : FindNorms(model)) {
    const int opset = OpsetOfUnit(norm.kind);
    if (opset <= model.opset("") || !IsBesideLow(model, decision, norm)) continue;
    ++counts[{opset, NameOfUnit(norm.kind)}];
  }
  std::vector<std::string> hints;
  for (const auto& [unit, count] : counts) {
    const auto [opset, name] = unit;
    if (ReachableOpset(model, opset).opset != opset) continue;
    hints.push_back(absl::StrCat("opset ", opset, " has ", name, ", with float32 inside and ",
                                 DTypeName(decision.graph.low()), " around, for ", count, " norm",
                                 count == 1 ? " that is" : "s that are", " written out"));
  }
  return hints;
}

}  // namespace amp
