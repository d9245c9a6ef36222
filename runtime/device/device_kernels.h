// Kernels that run on a device.
#ifndef AMP_RUNTIME_DEVICE_DEVICE_KERNELS_H_
#define AMP_RUNTIME_DEVICE_DEVICE_KERNELS_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// Returns the kernels for this version of the operator; there may be none. `domain`: "" for ai.onnx.
std::vector<const KernelRow*> FindDeviceKernels(absl::string_view domain, absl::string_view op_type, int version);

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_DEVICE_KERNELS_H_
