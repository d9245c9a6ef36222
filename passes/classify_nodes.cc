#include "passes/classify_nodes.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "ir/node_facts.h"
#include "ir/status.h"
#include "passes/match_rules.h"

namespace amp {
namespace {

const OpRow* FindRow(const Model& model, NodeId id, const OpLists& lists, const TargetPromises& promises) {
  const Node& node = model.node(id);
  if (node.domain().empty() && model.IsCallOfFunction(id)) return nullptr;
  const auto lookup = [&](absl::string_view key) -> std::optional<std::string> {
    if (const auto promise = promises.find(key); promise != promises.end()) return promise->second;
    return NodeFact(model, id, key);
  };
  return lists.Find(node.domain(), node.op_type(), lookup);
}

// By call: the row for its function, or null.
std::vector<const OpRow*> FindFunctionRows(const Model& model, const OpLists& lists, const TargetPromises& promises) {
  std::vector<const OpRow*> rows;
  for (const InlinedCall& call : model.calls()) {
    const auto lookup = [&](absl::string_view key) -> std::optional<std::string> {
      if (const auto promise = promises.find(key); promise != promises.end()) return promise->second;
      const auto fact = call.facts.find(key);
      return fact == call.facts.end() ? std::nullopt : std::optional<std::string>(fact->second);
    };
    rows.push_back(lists.FindForFunction(call.domain, call.function, lookup));
  }
  return rows;
}

// Lets the row of a function around the node replace that of its operator.
void ApplyFunctionRows(const Model& model, NodeId id, const std::vector<const OpRow*>& rows, Classification& result) {
  for (int32_t call = model.node(id).call; call >= 0; call = model.call(call).parent) {
    const OpRow* row = rows[static_cast<size_t>(call)];
    if (row == nullptr) continue;
    const bool is_first = result.call < 0;  // of the functions: what it competes with is the operator's row
    const int own_rank = result.row == nullptr ? 0 : result.row->source_rank;
    if (is_first ? row->source_rank < own_rank : row->source_rank <= own_rank) continue;
    result.row = row;
    result.call = call;
  }
}

}  // namespace

ClassOrigin OriginOf(const Model& model, const Classification& c) {
  if (c.row == nullptr && c.rule == nullptr) return {};
  ClassOrigin origin =
      c.rule != nullptr ? ClassOrigin{c.rule->origin, c.rule->why} : ClassOrigin{c.row->origin, c.row->why};
  if (c.call < 0) return origin;
  const InlinedCall& call = model.call(c.call);
  const std::string in = absl::StrCat(c.rule == nullptr ? "" : absl::StrCat("call '", call.label, "' of "), "function ",
                                      call.FunctionName());
  origin.why = origin.why.empty() ? in : absl::StrCat(in, ": ", origin.why);
  return origin;
}

NodeClasses ClassifyNodes(const Model& model, const OpLists& lists, const TargetPromises& promises) {
  NodeClasses classes;
  classes.nodes.resize(static_cast<size_t>(model.num_nodes()));
  RuleMatcher rules(model, lists.name_rules());
  const std::vector<const OpRow*> function_rows = FindFunctionRows(model, lists, promises);
  for (NodeId id = 0; id < model.num_nodes(); ++id) {
    if (model.node(id).erased) continue;
    Classification& result = classes.nodes[static_cast<size_t>(id)];
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

std::vector<std::string> DescribeUnmatchedRules(const OpLists& lists, const NodeClasses& classes) {
  std::vector<std::string> sentences;
  for (size_t i = 0; i < lists.name_rules().size(); ++i) {
    if (classes.rule_matches[i] != 0) continue;
    const NameRule& rule = lists.name_rules()[i];
    const bool is_tensor = rule.subject == NameRule::Subject::kTensor;
    sentences.push_back(absl::StrCat(rule.origin, ": pattern '", Escaped(rule.glob.pattern()), "' matches no ",
                                     is_tensor ? "output of a node" : "node"));
  }
  return sentences;
}

}  // namespace amp
