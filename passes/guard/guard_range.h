// Guard "range": values that are known to leave the range of the low type stay high, and so does what reads them.
//
//   Sigmoid -> Mul(640) -> Mul(w, h)          an area of up to 409600: stays float32 in float16
//   Clip(points) -> MatMul(camera)            a row of the matrix makes 120000 of them: the product too
//   area -> MatMul                            the product would get an infinity: stays float32
//   Relu -> Mul, Exp, MatMul of 512 columns   of unknown size                                       -> passes
//
// Guards on known ranges alone: ends that few operands at their own ends make (ir/operators/value_ranges.h).
#ifndef AMP_PASSES_GUARD_GUARD_RANGE_H_
#define AMP_PASSES_GUARD_GUARD_RANGE_H_

#include "passes/guard/guarded_graph.h"

namespace amp {

// Linear in nodes and uses.
void GuardRange(const GuardedGraph& graph, VetoList& vetoes);

}  // namespace amp

#endif  // AMP_PASSES_GUARD_GUARD_RANGE_H_
