// Masks that callers give: floats that are added to scores ahead of a softmax.
//
//   y = Softmax (Add (scores, mask))     mask, an input: 0, or -1e9, which is -inf in float16
//
// A row that is hidden as a whole is NaN then. Masks that the model makes have constants, which other guards see. The
// mask of Attention has a type of its own, and alone stays float32.
#ifndef AMP_PASSES_GUARD_GUARD_MASKS_H_
#define AMP_PASSES_GUARD_GUARD_MASKS_H_

#include "ir/base/observed_values.h"
#include "passes/guard/guarded_graph.h"

namespace amp {

// Vetoes the sum, the softmax, and what lies between. Not for inputs whose values were observed: those are what they
// are. `observed` may be null.
void GuardMasks(const GuardedGraph& graph, const ObservedValues* observed, VetoList& vetoes);

}  // namespace amp

#endif  // AMP_PASSES_GUARD_GUARD_MASKS_H_
