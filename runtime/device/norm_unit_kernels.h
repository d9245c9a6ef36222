// Computes norms and softmax that a model writes out as units on a device; see runtime/loops/norm_units.h.
#ifndef AMP_RUNTIME_DEVICE_NORM_UNIT_KERNELS_H_
#define AMP_RUNTIME_DEVICE_NORM_UNIT_KERNELS_H_

#include "ir/patterns/pattern.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// Returns the kernel row for such patterns; null if there is none. Inputs: x, scale, shift. State: NormForm.
const KernelRow* FindDeviceNormRow(PatternKind kind);

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_NORM_UNIT_KERNELS_H_
