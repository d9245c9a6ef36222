// Which inlined call (Node::call) each node belongs to that a rewrite inserted.
#ifndef AMP_IR_FUNCTIONS_ASSIGN_CALLS_H_
#define AMP_IR_FUNCTIONS_ASSIGN_CALLS_H_

#include <utility>
#include <vector>

#include "ir/graph/graph.h"

namespace amp {

struct InlineOrigins;

// Decides for each inserted cast and constant which call it belongs to. A cast of something inside a call that is read
// inside and outside is split. Returns (cast, its new copy). REQUIRES: MarkCalls (ir/functions/inline_functions.h), and
// not committed yet.
std::vector<std::pair<NodeId, NodeId>> AssignCasts(Model& model, const InlineOrigins& origins);

}  // namespace amp

#endif  // AMP_IR_FUNCTIONS_ASSIGN_CALLS_H_
