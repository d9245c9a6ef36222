// Guard "long reductions": sums of many elements stay high in float16 unless the target adds them up in float32.
//
//   GlobalAveragePool of 64 x 64      4096 elements: a float16 sum of ones stops growing at 2048   -> stays float32
//   GlobalAveragePool of 7 x 7        49 elements                                                   -> passes
//   ReduceMean over an unknown extent                                                               -> passes
//   any of them, target promises float32_accumulation                                               -> passes
//
// bfloat16 needs no such guard: what computes in it accumulates in float32.
#ifndef AMP_PASSES_GUARD_GUARD_REDUCTIONS_H_
#define AMP_PASSES_GUARD_GUARD_REDUCTIONS_H_

#include "passes/guard/guarded_graph.h"

namespace amp {

// Linear in nodes.
void GuardReductions(const GuardedGraph& graph, VetoList& vetoes);

}  // namespace amp

#endif  // AMP_PASSES_GUARD_GUARD_REDUCTIONS_H_
