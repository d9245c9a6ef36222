#include "passes/classify_nodes.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "ir/node_facts.h"
#include "ir/status.h"

namespace amp {
namespace {

bool MatchesAnyOutput(const Model& model, NodeId id, const Glob& glob) {
  const auto& outputs = model.node(id).outputs;
  return std::any_of(outputs.begin(), outputs.end(),
                     [&](ValueId output) { return output != kNone && glob.Matches(model.value(output).name); });
}

// Counts every match and returns the strongest.
const NameRule* MatchRules(const Model& model, NodeId id, const std::vector<NameRule>& rules,
                           std::vector<int64_t>& matches) {
  if (rules.empty()) return nullptr;
  const NameRule* strongest = nullptr;
  const std::string label = model.NodeLabel(id);
  const std::string path = model.NodePath(id);
  for (size_t i = 0; i < rules.size(); ++i) {
    const bool matched = rules[i].subject == NameRule::Subject::kTensor
                             ? MatchesAnyOutput(model, id, rules[i].glob)
                             : rules[i].glob.Matches(label) || rules[i].glob.Matches(path);
    if (!matched) continue;
    ++matches[i];
    if (strongest == nullptr) strongest = &rules[i];
  }
  return strongest;
}

const OpRow* FindRow(const Model& model, NodeId id, const OpLists& lists, const TargetPromises& promises) {
  const Node& node = model.node(id);
  if (node.domain().empty() && model.IsCallOfFunction(id)) return nullptr;
  const auto lookup = [&](absl::string_view key) -> std::optional<std::string> {
    if (const auto promise = promises.find(key); promise != promises.end()) return promise->second;
    return NodeFact(model, id, key);
  };
  return lists.Find(node.domain(), node.op_type(), lookup);
}

}  // namespace

NodeClasses ClassifyNodes(const Model& model, const OpLists& lists, const TargetPromises& promises) {
  NodeClasses classes;
  classes.nodes.resize(static_cast<size_t>(model.num_nodes()));
  classes.rule_matches.resize(lists.name_rules().size());
  for (NodeId id = 0; id < model.num_nodes(); ++id) {
    if (model.node(id).erased) continue;
    Classification& result = classes.nodes[static_cast<size_t>(id)];
    result.row = FindRow(model, id, lists, promises);
    if (result.row != nullptr) result.op_class = result.row->op_class;
    const NameRule* rule = MatchRules(model, id, lists.name_rules(), classes.rule_matches);
    if (rule == nullptr || (result.row != nullptr && result.row->source_rank > rule->source_rank)) continue;
    result.rule = rule;
    result.op_class = rule->op_class;
  }
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
