// Between which numbers the floats of a model lie, where few operands make that so.
//
//   Sigmoid(x) * 640            from 0 to 640
//   Clip(x, -1, 0.99), Tanh(x)  from -1
//   w * h, each from 0 to 640   from 0 to 409600: the two may be at their ends at once
//   MatMul(points, [3, 3])      row sums of magnitudes: three may
//   MatMul(x, [512, 512])       nobody knows: 512 will not, and a bound that nothing comes near says nothing
//   1 / Clip(x, 1e-6, 1)        nobody knows: such a bound is there to be safe, not to be reached
//
// So a finite end is never passed, except by zeros that moves fill in, and is likely to be reached. Takes one pass over
// the nodes.
#ifndef AMP_IR_OPERATORS_VALUE_RANGES_H_
#define AMP_IR_OPERATORS_VALUE_RANGES_H_

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "ir/base/interval.h"
#include "ir/graph/graph.h"
#include "ir/operators/integer_bounds.h"

namespace amp {

class ValueRanges {
 public:
  // `order`: the nodes in topological order. Reads constants of at most 2^16 elements that meet a value whose range is
  // known. All references must outlive this object.
  ValueRanges(const Model& model, absl::Span<const NodeId> order, const IntegerBounds& integers);

  // Returns the range of a float value that is no constant; unknown ends are infinite.
  Interval Of(ValueId value) const { return value == kNone ? Interval() : ranges_[value].interval; }

 private:
  // With how many operands have to be at their ends at once for the result to be; a constant of one number always is.
  struct Range {
    Interval interval = {};
    int operands = 0;
  };

  Range Ask(ValueId value);
  Range OfOutput(NodeId id, size_t port);
  Range OfCast(const Node& node);
  Range OfMoved(const Node& node, size_t port);
  Range OfSum(const Node& node, bool subtracts);
  Range OfChoice(const Node& node);
  Range OfClip(const Node& node);
  Range OfArithmetic(NodeId id);
  Range OfMatrixProduct(const Node& node);

  const Model& model_;
  const IntegerBounds& integers_;
  IdVector<ValueId, Range> ranges_;
  absl::flat_hash_map<ValueId, Range> constants_;  // those that were read
};

}  // namespace amp

#endif  // AMP_IR_OPERATORS_VALUE_RANGES_H_
