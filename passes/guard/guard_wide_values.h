// Guard "wide values": sums of squares and exponentials stay high in float16 up to what brings them back into range.
//
//   Pow(re, 2) + Pow(im, 2) -> MatMul(mel)          a power spectrum: the squares, their sum and the product
//   ReduceSum(Pow(x, 2)) -> Conv -> Log             any energy whose product is brought back: both
//   Exp(x) -> MatMul(v) -> Div(ReduceSum(Exp(x)))   a softmax by hand: the product
//   Exp(x - ReduceMax(x)) -> MatMul(v) -> Div       at most 1: fits                             -> passes
//   Mul(x, x) -> MatMul, Exp(x) -> MatMul           an activation, squared; nothing brings it back  -> passes
//
// The veto covers the value, not only its producer: what is denied already would be cast for the product otherwise.
// bfloat16 has float32's range.
#ifndef AMP_PASSES_GUARD_GUARD_WIDE_VALUES_H_
#define AMP_PASSES_GUARD_GUARD_WIDE_VALUES_H_

#include "passes/guard/guarded_graph.h"

namespace amp {

// Linear in nodes and uses.
void GuardWideValues(const GuardedGraph& graph, VetoList& vetoes);

}  // namespace amp

#endif  // AMP_PASSES_GUARD_GUARD_WIDE_VALUES_H_
