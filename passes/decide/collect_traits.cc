#include "passes/decide/collect_traits.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/base/status.h"
#include "ir/operators/operator_facts.h"

namespace amp {
namespace {

// Each Softmax whose result becomes an output of the model, on the way only moved by clear operators.
absl::flat_hash_set<NodeId> FindLastSoftmaxes(const Model& model, const NodeClasses& classes) {
  const std::vector<ValueId>& outputs = model.graph(kMainGraph).outputs;
  std::vector<ValueId> stack(outputs.begin(), outputs.end());
  absl::flat_hash_set<NodeId> seen, found;
  while (!stack.empty()) {
    const ValueId value = stack.back();
    stack.pop_back();
    const NodeId id = model.value(value).producer;
    if (id == kNone || model.value(value).producer_port != 0 || !seen.insert(id).second) continue;
    if (IsSoftmax(model.node(id))) {
      found.insert(id);
    } else if (classes.nodes[id].op_class == OpClass::kClear) {
      stack.insert(stack.end(), model.node(id).inputs.begin(), model.node(id).inputs.end());
    }
  }
  return found;
}

std::string ExcludedBy(const Model& model, const Classification& classification) {
  const NameRule& by = *classification.rule;
  std::string rule = absl::StrCat("excluded by ", Escaped(by.origin), " '", Escaped(by.glob.pattern()), "'");
  if (classification.call == kNone) return rule;
  const InlinedCall& call = model.call(classification.call);
  return absl::StrCat(rule, ": inlined from '", Escaped(call.label), "', a call of ", Escaped(call.FunctionName()));
}

bool GivesModelOutput(const Model& model, const Node& node) {
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId out) { return out != kNone && model.IsModelOutput(out); });
}

class TraitCollector {
 public:
  TraitCollector(const Model& model, const NodeClasses& classes, const NodesThatStay& stay,
                 const RewriteSettings& settings)
      : model_(model), classes_(classes), batch_norms_(stay.batch_norms), settings_(settings) {
    for (const TypeFault& fault : stay.faults) faults_.try_emplace(fault.node, &fault);
    if (settings.last_softmax_stays) last_softmaxes_ = FindLastSoftmaxes(model, classes);
  }

  NodeTraits Of(NodeId id) const {
    const Node& node = model_.node(id);
    const Classification& c = classes_.nodes[id];
    NodeTraits traits;
    traits.op_class = c.op_class;
    traits.is_cast = IsCast(node);
    traits.may_be_forced = !IsLossOrStateful(node) && !node.Has(Role::kConstant);
    traits.forced_allow = c.rule != nullptr && c.op_class == OpClass::kAllow;
    if (c.rule != nullptr && c.op_class == OpClass::kDeny) {
      traits.op_class = c.row == nullptr ? OpClass::kUnlisted : c.row->op_class;  // still carries a denial on
    }
    if (!traits.forced_allow && last_softmaxes_.contains(id)) traits.op_class = OpClass::kDeny;
    traits.not_processed_why = WhyNotProcessed(id, c, traits.forced_allow);
    traits.processed = traits.not_processed_why.empty();
    return traits;
  }

 private:
  // Returns the strongest of several reasons; "" if there is none.
  std::string WhyNotProcessed(NodeId id, const Classification& c, bool forced_allow) const {
    const Node& node = model_.node(id);
    if (settings_.preserve == Preserve::kNode && GivesModelOutput(model_, node)) {
      return "preserved: it produces a graph output (--preserve node)";
    }
    if (!forced_allow && last_softmaxes_.contains(id)) return "the last Softmax stays float32 under a mixed policy";
    if (HasMalformedFill(node)) return "its attribute 'value' has not exactly one element";
    if (const auto fault = faults_.find(id); fault != faults_.end()) {
      return absl::StrCat("its types are not valid: ", Describe(model_, *fault->second));
    }
    if (c.rule != nullptr && c.op_class == OpClass::kDeny) return ExcludedBy(model_, c);
    const auto norm = batch_norms_.find(id);
    return norm != batch_norms_.end() ? norm->second : "";
  }

  const Model& model_;
  const NodeClasses& classes_;
  const absl::flat_hash_map<NodeId, std::string>& batch_norms_;
  const RewriteSettings& settings_;
  absl::flat_hash_map<NodeId, const TypeFault*> faults_;
  absl::flat_hash_set<NodeId> last_softmaxes_;
};

}  // namespace

IdVector<NodeId, NodeTraits> CollectTraits(const Model& model, const NodeClasses& classes, const NodesThatStay& stay,
                                           const RewriteSettings& settings) {
  const TraitCollector collector(model, classes, stay, settings);
  IdVector<NodeId, NodeTraits> traits(model.num_nodes());
  for (const NodeId id : model.AllNodes()) traits[id] = collector.Of(id);
  return traits;
}

}  // namespace amp
