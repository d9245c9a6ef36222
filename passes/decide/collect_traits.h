// The facts about each node that painting needs: its class, and whether anything keeps it out of the rewrite.
#ifndef AMP_PASSES_DECIDE_COLLECT_TRAITS_H_
#define AMP_PASSES_DECIDE_COLLECT_TRAITS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/graph/check_types.h"
#include "ir/graph/graph.h"
#include "passes/classify/classify_nodes.h"
#include "passes/decide/rewrite_settings.h"
#include "passes/paint/paint_graph.h"

namespace amp {

// Nodes that stay as they are, whatever the rules say, and why.
struct NodesThatStay {
  const std::vector<TypeFault>& faults;
  const absl::flat_hash_map<NodeId, std::string>& batch_norms;
};

// By NodeId; erased nodes have none of their own. Linear in the nodes.
IdVector<NodeId, NodeTraits> CollectTraits(const Model& model, const NodeClasses& classes, const NodesThatStay& stay,
                                           const RewriteSettings& settings);

}  // namespace amp

#endif  // AMP_PASSES_DECIDE_COLLECT_TRAITS_H_
