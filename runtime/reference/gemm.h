// y = alpha * a * b + beta * c, for Gemm and for FusedGemm, which goes on from it.
#ifndef AMP_RUNTIME_REFERENCE_GEMM_H_
#define AMP_RUNTIME_REFERENCE_GEMM_H_

#include "absl/status/statusor.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// In the accumulator type, not yet rounded, of a node with Gemm's inputs and attributes, of any version. Integers with
// factors other than 1 are multiplied in float64 and cut to whole numbers.
absl::StatusOr<Tensor> ComputeGemm(const KernelContext& context);

}  // namespace amp

#endif  // AMP_RUNTIME_REFERENCE_GEMM_H_
