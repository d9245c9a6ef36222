// Finds the nodes that run on the processor although a device has a kernel for them: arithmetic with shapes.
//
//   s = Shape (x)   n = Gather (s, 0)   m = Mul (n, 2)   y = Reshape (x, m)
//
// Shape reads no element of x, wherever x lies, and the values computed from its result are a few integers that the
// processor needs anyway. Gather and Mul therefore run on the processor, and nothing is copied.
#ifndef AMP_RUNTIME_PLAN_PLACE_INSTRUCTIONS_H_
#define AMP_RUNTIME_PLAN_PLACE_INSTRUCTIONS_H_

#include "ir/graph/graph.h"
#include "runtime/plan/program.h"

namespace amp {

// Sets why_on_host in each such instruction. Whether the device has a kernel for the others is known when they run.
// REQUIRES: types are inferred.
void PlaceInstructions(const Model& model, Program& program);

}  // namespace amp

#endif  // AMP_RUNTIME_PLAN_PLACE_INSTRUCTIONS_H_
