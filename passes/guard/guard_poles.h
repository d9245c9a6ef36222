// Guard "poles": values that end just before the place where a reader is singular stay high if the low type has no
// number in between.
//
//   Clip(p, 1e-5, 1 - 1e-5) -> 1 - p -> Log    1 - 1e-5 is 1 in both low types: Clip and what follows stay float32
//   1.00001 - Sigmoid(x) -> Div                so is 1.00001: Sigmoid and the difference
//   Clip(p, 0.01, 0.75) -> 1 - p -> Log        0.75 stays what it is                               -> passes
//   Clip(p, 1e-5, 1 - 1e-5) -> Mul             nobody is singular at 1                             -> passes
//
// The rounding that counts is that of the constant's distance from the pole, not the constant's own. Poles are followed
// backward, through sums and products with constants: Log(1 - p) has one at p = 1.
#ifndef AMP_PASSES_GUARD_GUARD_POLES_H_
#define AMP_PASSES_GUARD_GUARD_POLES_H_

#include "passes/guard/guarded_graph.h"

namespace amp {

// Linear in nodes and uses.
void GuardPoles(const GuardedGraph& graph, VetoList& vetoes);

}  // namespace amp

#endif  // AMP_PASSES_GUARD_GUARD_POLES_H_
