// Products of batches of row-major matrices by oneDNN, for kernels that come down to them.
#ifndef AMP_RUNTIME_CPU_BATCHED_PRODUCT_H_
#define AMP_RUNTIME_CPU_BATCHED_PRODUCT_H_

#include "absl/status/statusor.h"
#include "runtime/kernel/contraction.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// Returns [batch, m, n] of a's type: a [batch, m, k] times b [batch, k, n], or with `transposes_b` [batch, n, k]. Keeps
// the primitive in the node's state. REQUIRES: a and b of one type that oneDNN computes, with elements. Errors: memory,
// a refusal of the library.
absl::StatusOr<Tensor> BatchedProduct(KernelContext& context, const Tensor& a, const Tensor& b,
                                      const ContractionSizes& sizes, bool transposes_b);

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_BATCHED_PRODUCT_H_
