// Makes a dimension of inputs symbolic that a model has fixed, where every operator computes each sample by itself.
//
//   g (float[1,3,8,8] x) => (float[1,10] y)     --dim x:0=batch ->   g (float[batch,3,8,8] x) => (float[batch,10] y)
//   Reshape (a, {1, 48})                                             Reshape (a, {0, 48})
//
// Which operators that is, and what has to change at them, ir/operators/sample_axis.h knows. Shapes that values and
// outputs state follow. One node that is not followed refuses the whole, with its name.
#ifndef AMP_PASSES_DECIDE_FREE_DIMENSION_H_
#define AMP_PASSES_DECIDE_FREE_DIMENSION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ir/graph/graph.h"

namespace amp {

// As users write it: "x:0=batch".
struct FreedDimension {
  std::string input;
  size_t axis = 0;
  std::string symbol;
};

// Frees all of them, those of one symbol together. REQUIRES: types are inferred; they are again afterwards. Errors:
// kInvalidArgument (no such input or axis, a dimension that is symbolic already, sizes that differ under one symbol),
// kPermissionDenied, with the node (--dim: it says so), and the model as it was for the symbol in question.
absl::Status FreeDimensions(Model& model, const std::vector<FreedDimension>& dimensions);

// The result of freeing the first dimension of all inputs that have a 1 there or, if that is refused, of the first such
// input alone. `sentence`: what was done, or which node does not allow it; empty if no input has a 1 there.
struct FreedBatch {
  bool is_free = false;
  std::string sentence;
};
FreedBatch FreeBatch(Model& model);

}  // namespace amp

#endif  // AMP_PASSES_DECIDE_FREE_DIMENSION_H_
