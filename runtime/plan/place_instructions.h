// Which nodes the processor runs although there is a device with a kernel for them: arithmetic with shapes.
//
//   s = Shape (x)   n = Gather (s, 0)   m = Mul (n, 2)   y = Reshape (x, m)
//
// Shape looks at no element of x, wherever that is, and what is made of its result is a handful of integers that the
// processor needs: Gather and Mul run there, and nothing is copied.
#ifndef AMP_RUNTIME_PLAN_PLACE_INSTRUCTIONS_H_
#define AMP_RUNTIME_PLAN_PLACE_INSTRUCTIONS_H_

#include "ir/graph/graph.h"
#include "runtime/plan/program.h"

namespace amp {

// Says why, in each such instruction. Whether a kernel of the device takes the others is seen when they run.
// REQUIRES: types are inferred.
void PlaceInstructions(const Model& model, Program& program);

}  // namespace amp

#endif  // AMP_RUNTIME_PLAN_PLACE_INSTRUCTIONS_H_
