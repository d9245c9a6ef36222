// NaN and infinities ahead of those steps that oneDNN computes by comparing, which make other numbers of them:
//
//   Relu (NaN) = 0    Clip (NaN) = its lower bound    HardSigmoid (NaN) = 1    Gelu (inf) = NaN
//
// Such steps are left to the library only where the sums of products ahead of them are known to be finite. Otherwise
// the nodes run one by one, by kernels that keep NaN.
#ifndef AMP_RUNTIME_CPU_HIDDEN_NUMBERS_H_
#define AMP_RUNTIME_CPU_HIDDEN_NUMBERS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernel/epilogue.h"
#include "runtime/kernel/kernel.h"

namespace amp {

struct ProductSums {
  const std::vector<EpilogueStep>& steps;
  int64_t most_terms = 0;  // products in a sum
  const Dims& result;
};

// Returns a bound of the magnitudes of a product's or convolution's result, infinity where there is none. Steps that
// hide numbers look at inputs of which no bound is known, or one that is too large: at constants once, at others at
// every run. Bounds grow from node to node, so that a network is looked at every few layers. Errors: a refusal where a
// sum of products ahead of such a step may be NaN or infinite, or where looking takes longer than a pass of its own for
// each step: weights that are no constants are often larger than the result.
absl::StatusOr<double> BoundOfResult(KernelContext& context, const ProductSums& sums);

// Finds the magnitude of a constant input. BoundOfResult then needs no elements of it, which are about to go. Errors:
// those of bringing the elements back.
absl::Status LookAtConstant(KernelContext& context, size_t port);

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_HIDDEN_NUMBERS_H_
