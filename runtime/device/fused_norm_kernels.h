// Computes norms and softmax that a model writes out, fused, on a device; see runtime/loops/fused_norms.h.
#ifndef AMP_RUNTIME_DEVICE_FUSED_NORM_KERNELS_H_
#define AMP_RUNTIME_DEVICE_FUSED_NORM_KERNELS_H_

#include "ir/patterns/pattern.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// Returns the kernel row for such patterns; null if there is none. Inputs: x, scale, shift. State: NormForm.
const KernelRow* FindDeviceNormRow(PatternKind kind);

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_FUSED_NORM_KERNELS_H_
