// Which initializers of a forward model are trained.
//
//   weights and biases of Conv, Gemm, MatMul; scales and shifts of norms; tables of Gather; vectors that are added or
//   multiplied          yes
//   epsilons, Pow exponents, Clip bounds, Resize scales, running statistics, shapes, anything that is no float     no
#ifndef AMP_PASSES_TRAIN_TRAINABLE_H_
#define AMP_PASSES_TRAIN_TRAINABLE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/graph/graph.h"

namespace amp {

// Returns the float initializers of the main graph, in its order, that some node reads as an operand that is usually
// learnt. A single number that is added or multiplied is not among them, except a vector of one element behind a
// product. Initializers that the graph also lists as inputs are.
std::vector<ValueId> DefaultTrainable(const Model& model);

// The default without what a glob of `freeze` names; or, with globs in `trainable`, what those name (floating-point
// initializers of any kind) without what `freeze` names. In the graph's order. Errors, kInvalidArgument: a glob that
// names no floating-point initializer; nothing left.
absl::StatusOr<std::vector<ValueId>> ChooseTrainable(const Model& model, absl::Span<const std::string> trainable,
                                                     absl::Span<const std::string> freeze);

}  // namespace amp

#endif  // AMP_PASSES_TRAIN_TRAINABLE_H_
