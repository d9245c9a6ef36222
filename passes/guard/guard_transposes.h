// Guard "transposed batches": a Transpose that ONNX Runtime's default session does not survive in float16.
//
//   Transpose (perm = [1, 0, 2]) ─ MatMul(W)   after recurrent layers, sequence-first attention   -> stays float32
//   Transpose (perm = [0, 2, 1]) ─ MatMul(W)   the first axis stays where it is                   -> passes
//
// Its optimiser joins the two in an operator that has no float16 kernel on a processor, and the layout optimiser behind
// it crashes as it loads the model (1.31 and 1.32, with ORT_ENABLE_ALL). A Cast between the two prevents that, as do
// weights that are no constant vector or matrix. Where --target names a GPU nothing runs there on the processor.
#ifndef AMP_PASSES_GUARD_GUARD_TRANSPOSES_H_
#define AMP_PASSES_GUARD_GUARD_TRANSPOSES_H_

#include "passes/guard/guarded_graph.h"

namespace amp {

// Linear in nodes.
void GuardTransposes(const GuardedGraph& graph, VetoList& vetoes);

}  // namespace amp

#endif  // AMP_PASSES_GUARD_GUARD_TRANSPOSES_H_
