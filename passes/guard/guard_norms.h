// Guard "decomposed norms": a norm that is written out in small operators is one island and stays high.
//
//   x / Sqrt(ReduceMean(x * x) + eps)                  RMSNorm, with Reciprocal, Pow(-0.5) or eps under Max as well
//   c = x - ReduceMean(x); c / Sqrt(ReduceMean(c * c)) LayerNorm, InstanceNorm: the mean and the difference too
//   (x - m) / Sqrt(ReduceMean(x * x) - m * m)          a LayerNorm too, m = ReduceSum(x) / n or moved to its place
//   x / Sqrt(MatMul(x * x, ones)), x / Max(ReduceL2(x), eps)
//   scores / Sqrt(Cast(depth))                         no squares under the root                        -> passes
//   a / Sqrt(b * b + c * c)                            another value's magnitude: guard "squares" has it -> passes
//
// Norms that a formula of ir/patterns/norm_pattern.h fits are found by it, whoever else reads what is inside. Others
// have no epsilon, or bound the root, or sum by a product with ones: islands that are found from their root, back to
// squares, forward to the division of what was squared. Not obvious: what was squared and what is divided need not be
// one value: x, its difference from the mean, and their moved copies count alike.
#ifndef AMP_PASSES_GUARD_GUARD_NORMS_H_
#define AMP_PASSES_GUARD_GUARD_NORMS_H_

#include "passes/guard/guarded_graph.h"

namespace amp {

// Linear in nodes: an island whose search overdraws its SearchBudget is none.
void GuardNorms(const GuardedGraph& graph, VetoList& vetoes);

}  // namespace amp

#endif  // AMP_PASSES_GUARD_GUARD_NORMS_H_
