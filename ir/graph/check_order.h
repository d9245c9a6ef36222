// Whether values are made before they are read: the part of a graph's validity that edits of uses can break.
#ifndef AMP_IR_GRAPH_CHECK_ORDER_H_
#define AMP_IR_GRAPH_CHECK_ORDER_H_

#include "absl/status/status.h"
#include "ir/graph/graph.h"

namespace amp {

// kInternal, naming the node, unless every value that a node reads or a graph gives is defined in its graph or one
// around it, and made before. Linear; recurses as deep as graphs are nested.
absl::Status CheckOrder(const Model& model);

}  // namespace amp

#endif  // AMP_IR_GRAPH_CHECK_ORDER_H_
