// Finds the kernels of a session with a device.
#ifndef AMP_RUNTIME_DEVICE_RUN_FIND_KERNELS_H_
#define AMP_RUNTIME_DEVICE_RUN_FIND_KERNELS_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// Returns the kernels for devices, then those of FindAllKernels (runtime/plan/all_kernels.h). `domain`: "" for ai.onnx.
std::vector<const KernelRow*> FindAllKernelsAndDevices(absl::string_view domain, absl::string_view op_type,
                                                       int version);

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_RUN_FIND_KERNELS_H_
