// Which rule by name decides over each node: --deny-node, --allow-node, --deny-tensor and those of list files.
//
//   --deny-node block            every node inlined from the call "block", however deep, and a node of that name
//   --allow-node block/mm        but not this one
//   --deny-node 'If_0/then_*'    by path, as reports print it (ir/graph/node_paths.h)
//   --deny-node 'layers[0]/mm'   the node that is called so, if there is one; else a pattern
//
// Several rules may match a node or a call around it. Those of a stronger source come first; inside a source names come
// before patterns; among names that of the node itself, then that of the innermost call; then the order of
// OpLists::name_rules() decides.
#ifndef AMP_PASSES_CLASSIFY_MATCH_RULES_H_
#define AMP_PASSES_CLASSIFY_MATCH_RULES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/graph/node_paths.h"
#include "passes/classify/op_list_file.h"

namespace amp {

struct RuleMatch {
  const NameRule* rule = nullptr;  // null: no rule matches
  CallId call = kNone;             // around the node, whose name or path it was; kNone for the node's own
};

class RuleMatcher {
 public:
  // Both must outlive the matcher. Costs a look at every name of the model.
  RuleMatcher(const Model& model, const std::vector<NameRule>& rules);

  RuleMatch Match(NodeId id);
  // By index into the rules: nodes that Match was asked about and that the rule matched, decisive or not.
  const std::vector<int64_t>& matches() const { return matches_; }

 private:
  void FindNames();
  bool Holds(size_t rule, const std::string& name) const;
  bool MatchesNode(size_t rule, NodeId id, const std::string& label) const;
  // 0: the node itself; 1: the call that it is in, 2: the one around that; -1: no match. Sets `call`.
  int LevelOf(size_t rule, NodeId id, const std::string& label, CallId& call) const;

  const Model& model_;
  const std::vector<NameRule>& rules_;
  NodePaths paths_;
  IdVector<CallId, std::string> call_paths_;
  std::vector<bool> is_name_;                     // by rule: without wildcards, or something is called just like that
  std::vector<IdVector<CallId, bool>> on_calls_;  // by rule
  std::vector<size_t> order_;                     // the rules, strongest first as far as no node has a say in it
  std::vector<int64_t> matches_;
};

}  // namespace amp

#endif  // AMP_PASSES_CLASSIFY_MATCH_RULES_H_
