// The effects of nodes on values that guards ask for: the roles of their operators (ir/schema/operator_table.h), and
// facts that follow from these and the node's operands.
//
//   Sqrt (x), Pow (x, 0.5)               take a root
//   Mul (x, x), Pow (x, 2), ReduceL2 (x)  square x
#ifndef AMP_IR_OPERATORS_OPERATOR_ROLES_H_
#define AMP_IR_OPERATORS_OPERATOR_ROLES_H_

#include <cstdint>

#include "ir/base/interval.h"
#include "ir/graph/graph.h"
#include "ir/schema/operator_table.h"

namespace amp {

// None for a call of a model-local function, and for an operator that is unknown at the model's opset.
Roles RolesOf(const Model& model, NodeId node);

// The value that the node squares: Mul(x, x), Pow(x, 2), ReduceSumSquare(x), ReduceL2(x); kNone for others.
ValueId SquaredValue(const Model& model, NodeId node);
// The bounds of a Clip, of operands or attributes; an end is infinite where it is absent or no constant.
Interval ClipBounds(const Model& model, const Node& clip);
// Sqrt, or Pow by 0.5 or -0.5.
bool TakesRoot(const Model& model, NodeId node);
// How many elements are added up for one element of the result of a node that kSums; -1 if that is not known.
int64_t SummedElements(const Model& model, NodeId node);

}  // namespace amp

#endif  // AMP_IR_OPERATORS_OPERATOR_ROLES_H_
