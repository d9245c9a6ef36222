// Attention units by the library of a device.
#ifndef AMP_RUNTIME_DEVICE_LIBRARY_ATTENTION_KERNELS_H_
#define AMP_RUNTIME_DEVICE_LIBRARY_ATTENTION_KERNELS_H_

#include "absl/types/span.h"
#include "runtime/kernel/attention_unit.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// Whether the library may attend in the unit, whose inputs have these types: else its nodes are better off by themselves.
bool MayAttendOnDevice(const AttentionUnit& unit, absl::Span<const DType> types);

// Of inputs queries, keys, values, masks, and the state AttentionUnit, in 16 bits. Where a mask bars all keys of a query,
// that query's result is the library's own: ONNX has NaN.
const KernelRow& AttentionUnitDeviceRow();

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_LIBRARY_ATTENTION_KERNELS_H_
