#include "passes/replace_norms.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/graph/node_paths.h"
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

class NormPlanner {
 public:
  NormPlanner(const Model& model, const DecisionInputs& inputs) : model_(model), inputs_(inputs) {}

  absl::StatusOr<NormPlan> Plan() {
    NormPlan plan;
    std::vector<Pattern> norms = FindNorms(model_);
    if (norms.empty()) return plan;
    const bool may_lift = inputs_.settings.opset.kind == OpsetChoice::Kind::kAuto;
    const int reach = may_lift ? ReachableOpset(model_, kNewestForNorms).opset : model_.opset("");
    const NodeClasses classes = ClassifyNodes(model_, inputs_.lists, inputs_.settings.target.promises);
    std::erase_if(norms, [&](const Pattern& norm) {
      return OpsetOfUnit(norm.kind) > std::max(reach, model_.opset("")) || IsNamed(norm, classes) || IsAtFault(norm);
    });
    if (norms.empty()) return plan;

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
    for (const Pattern& norm : norms) {
      if (IsBesideLow(model_, decision, norm)) plan.results.insert(model_.node(norm.last()).Output(0));
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
};

}  // namespace

absl::StatusOr<NormPlan> PlanNorms(const Model& model, const DecisionInputs& inputs) {
  return NormPlanner(model, inputs).Plan();
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
    made.unit = MakeUnit(model, norm);
    replaced.norms.push_back(std::move(made));
  }
  if (replaced.norms.empty()) return replaced;
  model.SetOpset("", model.opset(""));         // looks schemas up
  const NodePaths now = FindNodePaths(model);  // the node that stays may have got a name
  std::vector<UnitOperator*> units;
  for (ReplacedNorm& norm : replaced.norms) {
    norm.path = now.nodes[norm.unit.node];
    units.push_back(&norm.unit);
  }
  replaced.constants = TakeUnreadConstants(model, units);
  return replaced;
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
