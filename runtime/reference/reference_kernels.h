// Kernels that are obviously right: plain loops, float64 in between, one rounding at the end. They cover every operator
// that this program runs, are what a faster kernel is measured against, and run where no faster one applies.
#ifndef AMP_RUNTIME_REFERENCE_REFERENCE_KERNELS_H_
#define AMP_RUNTIME_REFERENCE_REFERENCE_KERNELS_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// `domain`: "" for ai.onnx. One, or none where there is none for this version of the operator.
std::vector<const KernelRow*> FindReferenceKernels(absl::string_view domain, absl::string_view op_type, int version);

}  // namespace amp

#endif  // AMP_RUNTIME_REFERENCE_REFERENCE_KERNELS_H_
