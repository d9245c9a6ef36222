// The families of kernels for devices, each in a file of its own; device_kernels.cc makes one table of them.
#ifndef AMP_RUNTIME_DEVICE_FAMILIES_H_
#define AMP_RUNTIME_DEVICE_FAMILIES_H_

#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"

namespace amp {

absl::Span<const KernelRow> AttentionDeviceKernels();
absl::Span<const KernelRow> BatchNormDeviceKernels();
absl::Span<const KernelRow> BinaryDeviceKernels();
absl::Span<const KernelRow> ConvolutionDeviceKernels();
absl::Span<const KernelRow> EinsumDeviceKernels();
absl::Span<const KernelRow> ExperimentalDeviceKernels();
absl::Span<const KernelRow> FillDeviceKernels();
absl::Span<const KernelRow> FoldDeviceKernels();
absl::Span<const KernelRow> GatherGradientDeviceKernels();
absl::Span<const KernelRow> ImageDeviceKernels();
absl::Span<const KernelRow> IntegerDeviceKernels();
absl::Span<const KernelRow> LibraryConvolutionDeviceKernels();
absl::Span<const KernelRow> LossDeviceKernels();
absl::Span<const KernelRow> MoveDeviceKernels();
absl::Span<const KernelRow> NormGradientDeviceKernels();
absl::Span<const KernelRow> OptimizerDeviceKernels();
absl::Span<const KernelRow> PoolDeviceKernels();
absl::Span<const KernelRow> PoolGradientDeviceKernels();
absl::Span<const KernelRow> ProductDeviceKernels();
absl::Span<const KernelRow> QuantizationDeviceKernels();
absl::Span<const KernelRow> QuantizedDeviceKernels();
absl::Span<const KernelRow> RankDeviceKernels();
absl::Span<const KernelRow> RecurrentDeviceKernels();
absl::Span<const KernelRow> ReductionDeviceKernels();
absl::Span<const KernelRow> RowDeviceKernels();
absl::Span<const KernelRow> SelectDeviceKernels();
absl::Span<const KernelRow> UnaryDeviceKernels();
absl::Span<const KernelRow> WeightGradientDeviceKernels();

// Returns the kernel row of a reduction that can read a narrower type than its node does; null for other operators.
const KernelRow* FindDeviceReductionRow(absl::string_view domain, absl::string_view op_type);
absl::Span<const KernelRow> WholeNumberDeviceKernels();

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_FAMILIES_H_
