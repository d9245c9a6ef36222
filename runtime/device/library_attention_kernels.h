// Attention units by the library of a device.
#ifndef AMP_RUNTIME_DEVICE_LIBRARY_ATTENTION_KERNELS_H_
#define AMP_RUNTIME_DEVICE_LIBRARY_ATTENTION_KERNELS_H_

#include "runtime/kernel/kernel.h"

namespace amp {

// Of inputs queries, keys, values, masks, and the state AttentionUnit, in 16 bits. Where a mask bars all keys of a query,
// that query's result is the library's own: ONNX has NaN.
const KernelRow& AttentionUnitDeviceRow();

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_LIBRARY_ATTENTION_KERNELS_H_
