// Which class each node of a model has, and which row or rule gave it.
//
//   Resize (no mode)       clear   Resize[mode=nearest], tf-1.15-float16.list:133
//   Softmax "/head/probs"  allow   --allow-node "/head/*"
//   Sin                    unlisted, nobody: a barrier
//
// Nodes of If, Loop and Scan bodies are classified like all others; rules by name match their paths too. Calls of
// model-local functions of ai.onnx's own domain are never taken for the operators whose names they use.
//
// A row of a list or a rule for a function or for a call holds for all nodes inlined from it. A row for the function
// decides over one for the node's operator of the same or a weaker source, that for the innermost function first.
#ifndef AMP_PASSES_CLASSIFY_CLASSIFY_NODES_H_
#define AMP_PASSES_CLASSIFY_CLASSIFY_NODES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ir/base/target_promises.h"
#include "ir/graph/graph.h"
#include "passes/classify/op_lists.h"

namespace amp {

struct Classification {
  OpClass op_class = OpClass::kUnlisted;
  const OpRow* row = nullptr;      // the operator's row, null if none applies
  const NameRule* rule = nullptr;  // the rule by name that replaced the row's class, if one did
  CallId call = kNone;             // whose function or name row or rule mean; kNone: the node's own
};

// Where the class comes from, "--deny", and why, "function my::Block: given on the command line"; empty if nobody gave
// one.
struct ClassOrigin {
  std::string origin, why;
};
ClassOrigin OriginOf(const Model& model, const Classification& classification);

struct NodeClasses {
  IdVector<NodeId, Classification> nodes;  // erased nodes are unlisted
  std::vector<int64_t> rule_matches;       // by index into OpLists::name_rules(): nodes whose name or output matched
};

// The result points into `lists`. Nodes are matched as passes/classify/match_rules.h says; those without a name by
// their label, "Conv#12". Nodes times rules, plus one look-up per node and per call around it.
NodeClasses ClassifyNodes(const Model& model, const OpLists& lists, const TargetPromises& promises);

// One sentence for every rule that matched nothing, in the order of the rules, with what may have been meant.
std::vector<std::string> DescribeUnmatchedRules(const Model& model, const OpLists& lists, const NodeClasses& classes);

}  // namespace amp

#endif  // AMP_PASSES_CLASSIFY_CLASSIFY_NODES_H_
