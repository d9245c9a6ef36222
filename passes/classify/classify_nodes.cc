#include "passes/classify/classify_nodes.h"

#include <optional>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ir/base/status.h"
#include "ir/graph/node_paths.h"
#include "ir/operators/node_facts.h"
#include "ir/schema/operator_label.h"
#include "passes/classify/match_rules.h"
#include "passes/classify/suggest.h"

namespace amp {
namespace {

std::optional<std::string> Promised(const TargetPromises& promises, const OpCondition& condition) {
  const auto value = condition.property ? PromisedValue(promises, *condition.property) : std::nullopt;
  return value ? std::optional(std::string(*value)) : std::nullopt;
}

const OpRow* FindRow(const Model& model, NodeId id, const OpLists& lists, const TargetPromises& promises) {
  const Node& node = model.node(id);
  if (node.domain().empty() && model.IsCallOfFunction(id)) return nullptr;
  const auto lookup = [&](const OpCondition& condition) -> std::optional<std::string> {
    if (auto promised = Promised(promises, condition)) return promised;
    return NodeFact(model, id, condition.key);
  };
  return lists.Find(node.domain(), node.op_type(), lookup);
}

// The row for each call's function, or null.
IdVector<CallId, const OpRow*> FindFunctionRows(const Model& model, const OpLists& lists,
                                                const TargetPromises& promises) {
  IdVector<CallId, const OpRow*> rows;
  for (const InlinedCall& call : model.calls()) {
    const auto lookup = [&](const OpCondition& condition) -> std::optional<std::string> {
      if (auto promised = Promised(promises, condition)) return promised;
      const auto fact = call.facts.find(condition.key);
      return fact == call.facts.end() ? std::nullopt : std::optional<std::string>(fact->second);
    };
    rows.push_back(lists.FindForFunction(call.domain, call.function, lookup));
  }
  return rows;
}

// Lets the row of a function around the node replace that of its operator.
void ApplyFunctionRows(const Model& model, NodeId id, const IdVector<CallId, const OpRow*>& rows,
                       Classification& result) {
  for (CallId call = model.node(id).call; call != kNone; call = model.call(call).parent) {
    const OpRow* row = rows[call];
    if (row == nullptr) continue;
    const bool is_first = result.call == kNone;  // of the functions: what it competes with is the operator's row
    const int own_rank = result.row == nullptr ? 0 : result.row->source_rank;
    if (is_first ? row->source_rank < own_rank : row->source_rank <= own_rank) continue;
    result.row = row;
    result.call = call;
  }
}

// The names that a rule by name may have meant.
struct KnownNames {
  std::vector<std::string> paths, outputs;
  absl::flat_hash_set<std::string> operators;

  explicit KnownNames(const Model& model) {
    const NodePaths all = FindNodePaths(model);
    for (const NodeId id : model.AllNodes()) {
      const Node& node = model.node(id);
      if (node.inserted) continue;
      paths.push_back(all.nodes[id]);
      operators.insert(OperatorLabel(node.domain(), node.op_type()));
      for (const ValueId output : node.PresentOutputs()) outputs.push_back(model.value(output).name);
    }
  }
};

// "/head/*" for "^/head/.*$", which reads as a regular expression; "" for what does not.
std::string GlobOfRegex(absl::string_view pattern) {
  std::string glob(pattern);
  absl::StrReplaceAll({{".*", "*"}, {".+", "*"}, {"\\d+", "*"}, {"\\w+", "*"}, {"\\", ""}}, &glob);
  if (absl::StartsWith(glob, "^")) glob.erase(0, 1);
  if (absl::EndsWith(glob, "$")) glob.pop_back();
  return glob == pattern || glob.empty() ? "" : glob;
}

// The end of the sentence about a rule that matches nothing; "" if there is nothing to suggest.
std::string WhatWasMeant(const Model& model, const NameRule& rule, std::optional<KnownNames>& known) {
  const std::string& pattern = rule.glob.pattern();
  const bool is_flag = absl::StartsWith(rule.origin, "--");
  if (is_flag && absl::StrContains(pattern, ',')) return "; a comma is part of a name; repeat the flag";
  if (const std::string glob = GlobOfRegex(pattern); !glob.empty()) {
    return absl::StrCat("; * stands for any text, and this is no regular expression: did you mean '", Escaped(glob),
                        "'?");
  }
  if (absl::StrContains(pattern, '|')) return "; this is no regular expression: repeat the flag for each name";
  if (!rule.glob.is_literal()) return "";
  if (!known) known.emplace(model);
  const auto did_you_mean = [](const std::string& name) {
    return name.empty() ? "" : absl::StrCat("; did you mean '", Escaped(name), "'?");
  };
  if (rule.subject == NameRule::Subject::kTensor) return did_you_mean(ClosestName(pattern, known->outputs));
  if (is_flag && known->operators.contains(pattern)) {
    return absl::StrCat("; an operator: --", OpClassName(rule.op_class), " ", Escaped(pattern));
  }
  const std::string tail = absl::StrCat("/", pattern);
  const auto ends_so = [&](const std::string& path) { return absl::EndsWith(path, tail); };
  const auto path = absl::c_find_if(known->paths, ends_so);
  return did_you_mean(path != known->paths.end() ? *path : ClosestName(pattern, known->paths));
}

}  // namespace

ClassOrigin OriginOf(const Model& model, const Classification& c) {
  if (c.row == nullptr && c.rule == nullptr) return {};
  ClassOrigin origin =
      c.rule != nullptr ? ClassOrigin{c.rule->origin, c.rule->why} : ClassOrigin{c.row->origin, c.row->why};
  if (c.call == kNone) return origin;
  const InlinedCall& call = model.call(c.call);
  const std::string in = absl::StrCat(c.rule == nullptr ? "" : absl::StrCat("call '", call.label, "' of "), "function ",
                                      call.FunctionName());
  origin.why = origin.why.empty() ? in : absl::StrCat(in, ": ", origin.why);
  return origin;
}

NodeClasses ClassifyNodes(const Model& model, const OpLists& lists, const TargetPromises& promises) {
  NodeClasses classes;
  classes.nodes.resize(model.num_nodes());
  RuleMatcher rules(model, lists.name_rules());
  const IdVector<CallId, const OpRow*> function_rows = FindFunctionRows(model, lists, promises);
  for (const NodeId id : model.AllNodes()) {
    Classification& result = classes.nodes[id];
    result.row = FindRow(model, id, lists, promises);
    ApplyFunctionRows(model, id, function_rows, result);
    if (result.row != nullptr) result.op_class = result.row->op_class;
    const RuleMatch match = rules.Match(id);
    if (match.rule == nullptr || (result.row != nullptr && result.row->source_rank > match.rule->source_rank)) continue;
    result.rule = match.rule;
    result.call = match.call;
    result.op_class = match.rule->op_class;
  }
  classes.rule_matches = rules.matches();
  return classes;
}

std::vector<std::string> DescribeUnmatchedRules(const Model& model, const OpLists& lists, const NodeClasses& classes) {
  std::vector<std::string> sentences;
  std::optional<KnownNames> known;
  for (size_t i = 0; i < lists.name_rules().size(); ++i) {
    if (classes.rule_matches[i] != 0) continue;
    const NameRule& rule = lists.name_rules()[i];
    const bool is_tensor = rule.subject == NameRule::Subject::kTensor;
    sentences.push_back(absl::StrCat(rule.origin, ": pattern '", Escaped(rule.glob.pattern()), "' matches no ",
                                     is_tensor ? "output of a node" : "node", WhatWasMeant(model, rule, known)));
  }
  return sentences;
}

}  // namespace amp
