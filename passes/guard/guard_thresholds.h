// Guard "thresholds": floats that are compared with a constant to decide something stay high.
//
//   MatMul -> Mul(1.01) -> Greater(100.4) -> Where  Mul and Greater stay float32: a rounding would cross the threshold
//   MatMul -> Add(bias) -> ArgMax -> Gather         so do Add and ArgMax
//   MatMul -> Greater(0) -> Where                   the product's own rounding decides already           -> passes
//   MatMul -> Sigmoid -> Greater, Mul(gate)         another reader keeps Sigmoid what it is              -> passes
//   Greater -> Cast(float) -> Mul                   a mask of ones, no decision                          -> passes
//
// "Decides": the truth value or index reaches, through integers and truth values alone, a condition, an index, a shape
// or a loop count, that is, an integer operand of a node that also handles floats.
#ifndef AMP_PASSES_GUARD_GUARD_THRESHOLDS_H_
#define AMP_PASSES_GUARD_GUARD_THRESHOLDS_H_

#include "passes/guard/guarded_graph.h"

namespace amp {

// Linear in nodes and uses.
void GuardThresholds(const GuardedGraph& graph, VetoList& vetoes);

}  // namespace amp

#endif  // AMP_PASSES_GUARD_GUARD_THRESHOLDS_H_
