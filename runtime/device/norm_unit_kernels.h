// Norms and softmax that a model writes out, as one unit each, on a device; see runtime/loops/norm_units.h.
#ifndef AMP_RUNTIME_DEVICE_NORM_UNIT_KERNELS_H_
#define AMP_RUNTIME_DEVICE_NORM_UNIT_KERNELS_H_

#include "ir/patterns/pattern.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// The row that computes such patterns there, of inputs x, scale and shift and the state NormForm; null where none does.
const KernelRow* FindDeviceNormRow(PatternKind kind);

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_NORM_UNIT_KERNELS_H_
