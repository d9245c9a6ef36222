// The families of ONNX Runtime's training operators, which ONNX does not define; reference_kernels.cc puts them into
// its table.
#ifndef AMP_RUNTIME_REFERENCE_TRAINING_FAMILIES_H_
#define AMP_RUNTIME_REFERENCE_TRAINING_FAMILIES_H_

#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"

namespace amp {

absl::Span<const KernelRow> ActivationGradientKernels();
absl::Span<const KernelRow> LayerGradientKernels();
absl::Span<const KernelRow> MovementGradientKernels();
absl::Span<const KernelRow> RuntimeLossKernels();
absl::Span<const KernelRow> RuntimeUpdateKernels();

}  // namespace amp

#endif  // AMP_RUNTIME_REFERENCE_TRAINING_FAMILIES_H_
