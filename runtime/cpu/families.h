// The families of kernels that oneDNN computes, each in a file of its own.
#ifndef AMP_RUNTIME_CPU_FAMILIES_H_
#define AMP_RUNTIME_CPU_FAMILIES_H_

#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"

namespace amp {

absl::Span<const KernelRow> LibraryAttentionKernels();
absl::Span<const KernelRow> LibraryGroupQueryKernels();
absl::Span<const KernelRow> LibraryMatrixKernels();
absl::Span<const KernelRow> LibraryConvolutionKernels();
absl::Span<const KernelRow> LibraryMultiHeadKernels();
absl::Span<const KernelRow> LibraryOverlapAddKernels();
absl::Span<const KernelRow> LibraryConvolutionGradientKernels();
absl::Span<const KernelRow> LibraryDeformableConvolutionKernels();
absl::Span<const KernelRow> LibraryEinsumKernels();
absl::Span<const KernelRow> LibraryIntegerConvolutionKernels();
absl::Span<const KernelRow> LibraryIntegerMatrixKernels();
absl::Span<const KernelRow> LibraryRecurrentKernels();
absl::Span<const KernelRow> LibraryWeightGradientKernels();  // must come before those of products

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_FAMILIES_H_
