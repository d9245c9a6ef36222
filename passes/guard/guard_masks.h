// Masks that callers give: floats that are added to scores ahead of a softmax.
//
//   y = Softmax (Add (scores, mask))     mask, an input: 0, or -1e9, which is -inf in float16
//
// A row that is masked as a whole is NaN then. Masks that the model makes have constants, which other guards see.
#ifndef AMP_PASSES_GUARD_GUARD_MASKS_H_
#define AMP_PASSES_GUARD_GUARD_MASKS_H_

#include "passes/guard/guarded_graph.h"

namespace amp {

// Vetoes the sum, the softmax, and what lies between. Not for inputs whose values were observed.
void GuardMasks(const GuardedGraph& graph, VetoList& vetoes);

}  // namespace amp

#endif  // AMP_PASSES_GUARD_GUARD_MASKS_H_
