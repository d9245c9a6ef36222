// How large the integers of a model can become, as far as types, shapes and constants tell.
//
//   Shape(x), x: [1, 3, 224, 224]          up to 224
//   ArgMax(x, axis = 1)                    up to 2
//   Cast<to = int64>(a bool), Add of two    up to 2
//   a graph input of int64                  nobody knows: infinity
//
// One pass over the nodes, interval arithmetic on magnitudes alone: cheap, and never too low for values that do not
// wrap around.
#ifndef AMP_IR_OPERATORS_INTEGER_BOUNDS_H_
#define AMP_IR_OPERATORS_INTEGER_BOUNDS_H_

#include <vector>

#include "absl/types/span.h"
#include "ir/graph/graph.h"
#include "ir/operators/operator_roles.h"

namespace amp {

class IntegerBounds {
 public:
  // `order`: the nodes in topological order. Reads constants of at most 2^16 integers.
  IntegerBounds(const Model& model, absl::Span<const NodeId> order);

  // The largest magnitude of an integer or bool value, or of a Range of floats; infinity where nobody knows, and for
  // all others.
  double Of(ValueId value) const;

 private:
  double OfLeaf(ValueId value) const;
  double OfOutput(NodeId node, size_t port) const;
  double OfResult(const Node& node, size_t port, Roles roles) const;
  double OfPickedDims(const Node& node) const;
  double LargestOperand(const Node& node, size_t port, size_t first) const;
  double LargestDim(ValueId value) const;
  double LargestIndex(const Node& node) const;

  const Model& model_;
  IdVector<ValueId, double> bounds_;  // NaN: not looked at
};

}  // namespace amp

#endif  // AMP_IR_OPERATORS_INTEGER_BOUNDS_H_
