// Guard "demands": values whose rounding does more harm than their readers bear stay high, with all nodes between them
// and those readers.
//
//   Softmax -> Log                       probabilities below 6e-8 are 0 in float16, and Log needs 2 % of them
//   1 - Sigmoid(x) -> Div                1 - 1e-5 is 1 in both types
//   grid + delta -> GridSample           up to 640 pixels, in float16 known to half of one
//   Loop: h = h + d, 1,000 rounds        as many roundings of h
//   Softmax -> MatMul -> Add -> Relu     nobody is singular                                      -> passes
//
// Supplies (passes/demand/supplies.h) meet demands (passes/demand/demands.h). A veto needs facts of both sides: a
// generic activation is never kept float32. Values that are known to leave the range stay high as well, with their
// readers.
#ifndef AMP_PASSES_DEMAND_GUARD_DEMANDS_H_
#define AMP_PASSES_DEMAND_GUARD_DEMANDS_H_

#include "ir/base/observed_values.h"
#include "passes/guard/guarded_graph.h"

namespace amp {

// `observed`: values of runs on a user's data, which count as facts; null if there are none. Linear in nodes and uses.
void GuardDemands(const GuardedGraph& graph, const ObservedValues* observed, VetoList& vetoes);

}  // namespace amp

#endif  // AMP_PASSES_DEMAND_GUARD_DEMANDS_H_
