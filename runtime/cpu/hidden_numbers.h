// NaN and infinities ahead of those steps that oneDNN computes by comparing, which make other numbers of them:
//
//   Relu (NaN) = 0    Clip (NaN) = its lower bound    HardSigmoid (NaN) = 1    Gelu (inf) = NaN
//
// Such steps are left to the library only where the sums of products ahead of them are known to be finite. Otherwise
// the nodes run one by one, by kernels that keep NaN.
#ifndef AMP_RUNTIME_CPU_HIDDEN_NUMBERS_H_
#define AMP_RUNTIME_CPU_HIDDEN_NUMBERS_H_

#include <vector>

#include "absl/status/status.h"
#include "runtime/kernel/epilogue.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// Whether one of the steps makes another number of NaN or of an infinity.
bool HidesNumbers(const std::vector<EpilogueStep>& steps);

// Looks at all inputs of a product or convolution: at constants once, at the others at every run. Errors: a refusal
// where a sum of products may be NaN or infinite ahead of these steps, or where looking takes longer than a pass of its
// own for each step: weights that are no constants are often larger than the result. No steps: none.
absl::Status CheckNothingToHide(KernelContext& context, const std::vector<EpilogueStep>& steps, const Dims& result);

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_HIDDEN_NUMBERS_H_
