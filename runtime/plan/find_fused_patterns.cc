#include "runtime/plan/find_fused_patterns.h"

#include <algorithm>
#include <utility>

#include "ir/graph/attributes.h"
#include "ir/operators/operator_facts.h"
#include "ir/patterns/attention_pattern.h"
#include "ir/patterns/group_norm_pattern.h"
#include "ir/patterns/norm_pattern.h"
#include "ir/patterns/pattern_search.h"
#include "ir/patterns/softmax_pattern.h"
#include "ir/schema/schema.h"
#include "runtime/kernel/fused_attention.h"
#include "runtime/loops/float_parts.h"
#include "runtime/loops/fused_norms.h"

namespace amp {
namespace {

// Whether the node's inputs are present and their types satisfy its schema. If not, the node has to fail when it runs,
// so that it must not be fused.
bool HasValidTypes(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  if (node.schema == nullptr) return false;
  std::vector<DType> types(node.schema->variables().size(), DType::kUndefined);
  for (size_t port = 0; port < node.inputs.size(); ++port) {
    if (node.inputs[port] == kNone) continue;
    const DType dtype = model.value(node.inputs[port]).dtype;
    const int variable = node.schema->InputVariable(port);
    if (!node.schema->Allows(variable, dtype)) return false;
    if (static_cast<size_t>(variable) >= types.size()) continue;
    DType& common = types[static_cast<size_t>(variable)];
    if (common != DType::kUndefined && common != dtype) return false;
    common = dtype;
  }
  const auto& ports = node.schema->inputs();
  for (size_t port = 0; port < ports.size(); ++port) {
    if (ports[port].presence == OpSchema::Presence::kRequired && node.Input(port) == kNone) return false;
  }
  return true;
}

bool MayJoin(const Model& model, const FusedNodes& taken, const std::vector<NodeId>& nodes) {
  return std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) { return !taken[id] && HasValidTypes(model, id); });
}

bool IsLoopFloatOf(const Model& model, ValueId value) { return IsLoopFloat(model.value(value).dtype); }

// Whether the node is a Cast from one float type to another.
bool IsFloatCast(const Model& model, NodeId id) {
  return id != kNone && IsPlainCast(model, id) && IsLoopFloatOf(model, model.node(id).Input(0)) &&
         IsLoopFloatOf(model, model.node(id).Output(0));
}

// Adds to the fused pattern the cast that widens its first input, if it alone reads the cast's result.
void AbsorbCastAhead(const Model& model, const FusedNodes& taken, Fusion& fused) {
  ValueId& x = fused.operands[0];
  const NodeId cast = model.value(x).producer;
  if (!IsFloatCast(model, cast) || model.value(x).dtype != DType::kFloat32 || taken[cast]) return;
  if (model.node(cast).graph != model.node(fused.nodes[0]).graph) return;
  const auto is_inside = [&](const Use& use) {
    return !use.IsGraphOutput() && std::find(fused.nodes.begin(), fused.nodes.end(), use.node) != fused.nodes.end();
  };
  const auto& uses = model.value(x).uses;
  if (!std::all_of(uses.begin(), uses.end(), is_inside)) return;
  fused.nodes.insert(fused.nodes.begin(), cast);
  x = model.node(cast).Input(0);
}

// Adds to the fused pattern a cast that is the only reader of its result.
void AbsorbCastBehind(const Model& model, const FusedNodes& taken, Fusion& fused) {
  const auto& uses = model.value(fused.result).uses;
  if (uses.size() != 1 || uses[0].IsGraphOutput()) return;
  const NodeId cast = uses[0].node;
  if (!IsFloatCast(model, cast) || taken[cast] || model.node(cast).graph != model.node(fused.nodes[0]).graph) return;
  fused.nodes.push_back(cast);
  fused.result = model.node(cast).Output(0);
}

Fusion FusedOf(const Model& model, const Pattern& pattern) {
  return {.nodes = pattern.nodes, .operands = pattern.inputs, .result = model.node(pattern.last()).Output(0)};
}

void AddNorm(const Model& model, const Pattern& pattern, const KernelRow* row, FusedNodes& taken,
             std::vector<Fusion>& fusions) {
  Fusion fused = FusedOf(model, pattern);
  const bool is_softmax = pattern.kind == PatternKind::kSoftmax || pattern.kind == PatternKind::kLogSoftmax;
  const bool fits = row != nullptr && MayJoin(model, taken, pattern.nodes) && IsLoopFloatOf(model, fused.operands[0]) &&
                    IsLoopFloatOf(model, fused.result) && !(is_softmax && pattern.axes.size() != 1);
  if (!fits) return;
  if (!is_softmax) {
    AbsorbCastAhead(model, taken, fused);
    AbsorbCastBehind(model, taken, fused);
  }
  auto form = std::make_unique<NormForm>();
  form->kind = pattern.kind;
  form->num_axes = is_softmax ? static_cast<size_t>(-pattern.axes[0]) : pattern.axes.size();
  form->groups = pattern.groups;
  form->epsilon = pattern.epsilon.value_or(0);
  form->stored_as = model.value(fused.result).dtype;
  fused.rows = {row};
  fused.form = std::move(form);
  for (const NodeId node : fused.nodes) taken[node] = true;
  fusions.push_back(std::move(fused));
}

// ---- attention ------------------------------------------------------------------------------------------------------

bool IsTransposition(const Model& model, const FusedNodes& taken, NodeId id, GraphId graph) {
  if (id == kNone || taken[id] || model.node(id).graph != graph || !HasAttribute(model.node(id), "perm")) return false;
  return PatternSearch(model).Is(id, "Transpose");
}

// Adds to the fused pattern a transposition of queries, keys or values, if it alone reads the result, and only once.
void AbsorbTransposition(const Model& model, const FusedNodes& taken, size_t port, Fusion& fused,
                         FusedAttention& form) {
  ValueId& operand = fused.operands[port];
  const NodeId transpose = model.value(operand).producer;
  if (!IsTransposition(model, taken, transpose, model.node(fused.nodes.back()).graph)) return;
  const auto& uses = model.value(operand).uses;
  if (uses.size() != 1 || uses[0].IsGraphOutput()) return;
  form.orders[port] = *GetInts(model.node(transpose), "perm");
  operand = model.node(transpose).Input(0);
  fused.nodes.insert(fused.nodes.begin(), transpose);
}

void AbsorbTranspositionBehind(const Model& model, const FusedNodes& taken, Fusion& fused, FusedAttention& form) {
  const auto& uses = model.value(fused.result).uses;
  if (uses.size() != 1 || !IsTransposition(model, taken, uses[0].node, model.node(fused.nodes.back()).graph)) return;
  form.order_of_result = *GetInts(model.node(uses[0].node), "perm");
  fused.nodes.push_back(uses[0].node);
  fused.result = model.node(uses[0].node).Output(0);
}

// Whether queries, keys, values and result have one type, and each mask has a type that fits its kind.
bool HaveTypesOfAttention(const Model& model, const Pattern& pattern, ValueId result) {
  const DType dtype = model.value(result).dtype;
  if (!IsLoopFloat(dtype)) return false;
  for (size_t i = 0; i < pattern.inputs.size(); ++i) {
    const DType of_input = model.value(pattern.inputs[i]).dtype;
    const bool is_mask = i >= 3,
               is_added = is_mask && pattern.attention->masks[i - 3].kind == AttentionForm::Mask::Kind::kAdded;
    const bool fits = !is_mask ? of_input == dtype : is_added ? IsLoopFloat(of_input) : of_input == DType::kBool;
    if (!fits) return false;
  }
  return true;
}

bool MayTake(const Model& model, const AttentionRule& rule, const Fusion& fused, const FusedAttention& form) {
  std::vector<DType> types;
  types.reserve(fused.operands.size());
  for (const ValueId operand : fused.operands) types.push_back(model.value(operand).dtype);
  return rule.may_take(form, types);
}

void AddAttention(const Model& model, const Pattern& pattern, const AttentionRule& rule, FusedNodes& taken,
                  std::vector<Fusion>& fusions) {
  Fusion fused = FusedOf(model, pattern);
  if (!MayJoin(model, taken, pattern.nodes) || !HaveTypesOfAttention(model, pattern, fused.result)) return;
  auto form = std::make_unique<FusedAttention>();
  form->form = *pattern.attention;
  form->zeroes_nans = std::any_of(pattern.nodes.begin(), pattern.nodes.end(),
                                  [&](NodeId id) { return PatternSearch(model).Is(id, "IsNaN"); });
  if (!MayTake(model, rule, fused, *form)) return;
  for (const size_t port : {size_t{0}, size_t{1}, size_t{2}}) AbsorbTransposition(model, taken, port, fused, *form);
  AbsorbTranspositionBehind(model, taken, fused, *form);
  fused.rows = rule.rows;
  fused.form = std::move(form);
  for (const NodeId node : fused.nodes) taken[node] = true;
  fusions.push_back(std::move(fused));
}

}  // namespace

void FindAttention(const Model& model, const AttentionRule& rule, FusedNodes& taken, std::vector<Fusion>& fusions) {
  for (const NodeId id : model.AllNodes()) {
    if (taken[id] || !model.node(id).Has(Role::kMatrixProduct)) continue;
    const Recognised found = RecogniseAttention(model, id);
    if (found.found()) AddAttention(model, found.pattern(), rule, taken, fusions);
  }
}

void FindNorms(const Model& model, FindPatternRow find_row, FusedNodes& taken, std::vector<Fusion>& fusions) {
  // Group norms come first, as a group norm may contain a norm.
  for (const auto recognise : {RecogniseGroupNorm, RecogniseNorm, RecogniseSoftmax}) {
    for (const NodeId id : model.AllNodes()) {
      if (taken[id]) continue;
      const Recognised found = recognise(model, id);
      if (found.found()) AddNorm(model, found.pattern(), find_row(found.pattern().kind), taken, fusions);
    }
  }
}

void FindReductions(const Model& model, FindOperatorRow find_row, FusedNodes& taken, std::vector<Fusion>& fusions) {
  for (const NodeId id : model.AllNodes()) {
    const Node& node = model.node(id);
    const KernelRow* const row = find_row(node.domain(), node.op_type());
    if (row == nullptr || !MayJoin(model, taken, {id}) || !IsLoopFloatOf(model, node.Output(0))) continue;
    Fusion fused = {
        .nodes = {id}, .operands = {node.inputs.begin(), node.inputs.end()}, .result = node.Output(0), .rows = {row}};
    AbsorbCastAhead(model, taken, fused);
    if (fused.nodes.size() == 1) continue;
    for (const NodeId member : fused.nodes) taken[member] = true;
    fusions.push_back(std::move(fused));
  }
}

}  // namespace amp
