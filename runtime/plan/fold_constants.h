// Computes, once when a session is made, the values that depend on constants alone.
//
//   t = Transpose (W)   y = MatMul (x, t)      =>   y = MatMul (x, t'); t' is a constant, and is packed as one
//
// An instruction is left alone if it draws random numbers, has bodies, fails, gives a value that is no tensor, or gives
// much more data than it reads (more than 4 times the bytes of its inputs plus 1 MiB).
#ifndef AMP_RUNTIME_PLAN_FOLD_CONSTANTS_H_
#define AMP_RUNTIME_PLAN_FOLD_CONSTANTS_H_

#include "ir/graph/graph.h"
#include "runtime/plan/program.h"

namespace amp {

// Removes the folded instructions and makes their results constants. REQUIRES: instructions are in order, one per node.
void FoldConstants(const Model& model, Program& program);

}  // namespace amp

#endif  // AMP_RUNTIME_PLAN_FOLD_CONSTANTS_H_
