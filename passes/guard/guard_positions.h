// Guard "positions": floats that count stay high until they meet an allowed operator.
//
//   Cast(int64 position) -> Mul(frequencies) -> Cos     counts of unknown extent: both stay float32
//   Cast(int64 position) -> MatMul(frequencies) -> Cos  an angle: the product stays float32 too
//   Cast(bool), Cast(uint8), Shape of 64 elements       counts that the low type holds exactly  -> pass
//   Cast(int64) -> Concat(features) -> MatMul           met at once: only the Cast stays, it does not give the low type
//   1 - Cast(int64 mask), activation * Cast(int64)      a mask, a factor: rounds like any other -> passes
//
// float16 counts exactly to 2048, bfloat16 to 256; a position of 9521 becomes 9520 or 9536, and its cosine another one.
// Not obvious: a factor's relative error does no harm, so what decides is how a count is read, not that it is one.
#ifndef AMP_PASSES_GUARD_GUARD_POSITIONS_H_
#define AMP_PASSES_GUARD_GUARD_POSITIONS_H_

#include "passes/guard/guarded_graph.h"

namespace amp {

// Linear in nodes and uses.
void GuardPositions(const GuardedGraph& graph, VetoList& vetoes);

}  // namespace amp

#endif  // AMP_PASSES_GUARD_GUARD_POSITIONS_H_
