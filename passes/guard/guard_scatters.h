// Guard "scatter reductions": what combines values that meet in one element stays high.
//
//   ScatterElements (reduction = none), GatherND     move elements                                   -> passes
//   ScatterElements (reduction = add)                a float16 sum of ones stops growing at 2048     -> stays float32
//   ScatterND (reduction = max)                      ONNX Runtime has no float16 kernel              -> stays float32
//
// How many values meet in one element is data: no shape bounds it, and every step is rounded, in bfloat16 too.
#ifndef AMP_PASSES_GUARD_GUARD_SCATTERS_H_
#define AMP_PASSES_GUARD_GUARD_SCATTERS_H_

#include "passes/guard/guarded_graph.h"

namespace amp {

// Linear in nodes.
void GuardScatters(const GuardedGraph& graph, VetoList& vetoes);

}  // namespace amp

#endif  // AMP_PASSES_GUARD_GUARD_SCATTERS_H_
