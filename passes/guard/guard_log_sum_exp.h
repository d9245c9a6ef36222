// Guard "log-sum-exp by hand": the maximum, the difference, the sum and the logarithm or division are one high island.
//
//   m = ReduceMax(x); Log(ReduceSum(Exp(x - m))) + m     m, x - m, the sum and the logarithm stay float32
//   e = Exp(x - m); e / ReduceSum(e)                     the softmax: likewise
//   Log(1 + Exp(x)), Exp(x) / y                          no sum along an axis of exponentials   -> passes
//
// Expressions that fit a formula of ir/patterns/softmax_pattern.h are found by it, even if their inner values have
// other readers. Others, such as sums of sums, are found from the exponentials on.
//
// A logarithm of a probability near 1 is a small difference of large numbers: the rounding of x - m is all of it.
// Softmax itself keeps its inside float32 and needs no guard.
#ifndef AMP_PASSES_GUARD_GUARD_LOG_SUM_EXP_H_
#define AMP_PASSES_GUARD_GUARD_LOG_SUM_EXP_H_

#include "passes/guard/guarded_graph.h"

namespace amp {

// Linear in nodes: an island whose search overdraws its SearchBudget is none.
void GuardLogSumExp(const GuardedGraph& graph, VetoList& vetoes);

}  // namespace amp

#endif  // AMP_PASSES_GUARD_GUARD_LOG_SUM_EXP_H_
