// Which nodes can be steps of a chain, and what they do there.
#ifndef AMP_RUNTIME_LOOPS_CHAIN_STEPS_H_
#define AMP_RUNTIME_LOOPS_CHAIN_STEPS_H_

#include <optional>
#include <vector>

#include "ir/graph/graph.h"
#include "runtime/loops/chain.h"

namespace amp {

struct NodeStep {
  ChainStep step;  // without operands
  std::vector<ValueId> operands;
};

// Nothing where the node is no element-wise operator with a loop for its types, or where constants that it needs are
// none. REQUIRES: types are inferred.
std::optional<NodeStep> StepOfNode(const Model& model, NodeId node);

}  // namespace amp

#endif  // AMP_RUNTIME_LOOPS_CHAIN_STEPS_H_
