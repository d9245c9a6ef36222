// What painting needs to know about each node: its class, and whether anything forbids that it is looked at.
#ifndef AMP_PASSES_COLLECT_TRAITS_H_
#define AMP_PASSES_COLLECT_TRAITS_H_

#include <vector>

#include "ir/graph/check_types.h"
#include "ir/graph/graph.h"
#include "passes/classify/classify_nodes.h"
#include "passes/paint/paint_graph.h"
#include "passes/rewrite_settings.h"

namespace amp {

// By NodeId; erased nodes have none of their own. A node with one of `faults` stays as it is. Linear in the nodes.
IdVector<NodeId, NodeTraits> CollectTraits(const Model& model, const NodeClasses& classes,
                                           const std::vector<TypeFault>& faults, const RewriteSettings& settings);

}  // namespace amp

#endif  // AMP_PASSES_COLLECT_TRAITS_H_
