// Attention fused patterns by a device's library.
#ifndef AMP_RUNTIME_DEVICE_LIBRARY_ATTENTION_KERNELS_H_
#define AMP_RUNTIME_DEVICE_LIBRARY_ATTENTION_KERNELS_H_

#include "absl/types/span.h"
#include "runtime/kernel/fused_attention.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// Whether the library may compute the fused pattern, whose inputs have these types. If not, its nodes run one by one.
bool MayAttendOnDevice(const FusedAttention& fused, absl::Span<const DType> types);

// Returns the kernel row for fused attention in 16 bits. Inputs: queries, keys, values, masks. State: FusedAttention.
// If a mask bars all keys of a query, the query's result is the library's own; ONNX's would be NaN.
const KernelRow& FusedAttentionDeviceRow();

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_LIBRARY_ATTENTION_KERNELS_H_
