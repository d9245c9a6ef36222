// Computes once, when a session is made, what depends on constants alone.
//
//   t = Transpose (W)   y = MatMul (x, t)      =>   y = MatMul (x, t'), t' a constant, and packed as such
//
// Left alone: what draws random numbers, has bodies, fails, gives something that is no tensor, or is much larger than
// what it is made of.
#ifndef AMP_RUNTIME_PLAN_FOLD_CONSTANTS_H_
#define AMP_RUNTIME_PLAN_FOLD_CONSTANTS_H_

#include "ir/graph/graph.h"
#include "runtime/plan/program.h"

namespace amp {

// Takes the instructions out and makes their results constants. REQUIRES: instructions are in order, one per node.
void FoldConstants(const Model& model, Program& program);

}  // namespace amp

#endif  // AMP_RUNTIME_PLAN_FOLD_CONSTANTS_H_
