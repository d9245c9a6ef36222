// Attention units by a device's library.
#ifndef AMP_RUNTIME_DEVICE_LIBRARY_ATTENTION_KERNELS_H_
#define AMP_RUNTIME_DEVICE_LIBRARY_ATTENTION_KERNELS_H_

#include "absl/types/span.h"
#include "runtime/kernel/attention_unit.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// Whether the library may compute the unit, whose inputs have these types. If not, its nodes run one by one.
bool MayAttendOnDevice(const AttentionUnit& unit, absl::Span<const DType> types);

// Returns the kernel row for attention units in 16 bits. Inputs: queries, keys, values, masks. State: AttentionUnit. If
// a mask bars all keys of a query, the query's result is the library's own; ONNX's would be NaN.
const KernelRow& AttentionUnitDeviceRow();

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_LIBRARY_ATTENTION_KERNELS_H_
