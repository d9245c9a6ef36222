#include "passes/classify/match_rules.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "absl/container/flat_hash_map.h"

namespace amp {

RuleMatcher::RuleMatcher(const Model& model, const std::vector<NameRule>& rules)
    : model_(model), rules_(rules), order_(rules.size()), matches_(rules.size()) {
  if (rules.empty()) return;
  paths_ = FindNodePaths(model);
  call_paths_ = FindCallPaths(model);
  FindNames();
  std::iota(order_.begin(), order_.end(), size_t{0});
  std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
    return std::make_tuple(rules_[a].source_rank, bool{is_name_[a]}) >
           std::make_tuple(rules_[b].source_rank, bool{is_name_[b]});
  });
  on_calls_.resize(rules.size());
  for (size_t rule = 0; rule < rules.size(); ++rule) {
    if (rules[rule].subject == NameRule::Subject::kTensor) continue;
    for (const CallId call : model.calls().ids()) {
      on_calls_[rule].push_back(Holds(rule, model.call(call).label) || Holds(rule, call_paths_[call]));
    }
  }
}

// A pattern that is the name of something is taken for that name.
void RuleMatcher::FindNames() {
  absl::flat_hash_map<std::string, std::vector<size_t>> tensors, nodes;
  for (size_t rule = 0; rule < rules_.size(); ++rule) {
    is_name_.push_back(rules_[rule].glob.is_literal());
    if (is_name_.back()) continue;
    (rules_[rule].subject == NameRule::Subject::kTensor ? tensors : nodes)[rules_[rule].glob.pattern()].push_back(rule);
  }
  if (tensors.empty() && nodes.empty()) return;
  const auto note = [&](const auto& patterns, const std::string& name) {
    const auto it = patterns.find(name);
    if (it == patterns.end()) return;
    for (size_t rule : it->second) is_name_[rule] = true;
  };
  for (const NodeId id : model_.AllNodes()) {
    note(nodes, model_.NodeLabel(id));
    note(nodes, paths_.nodes[id]);
    for (const ValueId output : model_.node(id).PresentOutputs()) note(tensors, model_.value(output).name);
  }
  for (const InlinedCall& call : model_.calls()) note(nodes, call.label);
  for (const std::string& path : call_paths_) note(nodes, path);
}

bool RuleMatcher::Holds(size_t rule, const std::string& name) const {
  const Glob& glob = rules_[rule].glob;
  return is_name_[rule] ? name == glob.pattern() : glob.Matches(name);
}

bool RuleMatcher::MatchesNode(size_t rule, NodeId id, const std::string& label) const {
  if (rules_[rule].subject == NameRule::Subject::kTensor) {
    const auto& outputs = model_.node(id).outputs;
    return std::any_of(outputs.begin(), outputs.end(),
                       [&](ValueId output) { return output != kNone && Holds(rule, model_.value(output).name); });
  }
  const std::string& path = paths_.nodes[id];
  return Holds(rule, path) || (path != label && Holds(rule, label));
}

int RuleMatcher::LevelOf(size_t rule, NodeId id, const std::string& label, CallId& call) const {
  call = kNone;
  if (MatchesNode(rule, id, label)) return 0;
  if (rules_[rule].subject == NameRule::Subject::kTensor) return -1;
  int level = 1;
  for (call = model_.node(id).call; call != kNone; call = model_.call(call).parent) {
    if (on_calls_[rule][call]) return level;
    ++level;
  }
  return -1;
}

RuleMatch RuleMatcher::Match(NodeId id) {
  RuleMatch best;
  if (rules_.empty()) return best;
  const std::string label = model_.NodeLabel(id);
  int best_level = 0;
  for (size_t i : order_) {
    CallId call = kNone;
    const int level = LevelOf(i, id, label, call);
    if (level < 0) continue;
    ++matches_[i];
    const NameRule& rule = rules_[i];
    const bool is_nearer = best.rule != nullptr && best.rule->source_rank == rule.source_rank && is_name_[i] &&
                           level < best_level;  // only names come before a name of the same source
    if (best.rule != nullptr && !is_nearer) continue;
    best = {&rule, call};
    best_level = level;
  }
  return best;
}

}  // namespace amp
