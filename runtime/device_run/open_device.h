// Opens an NVIDIA GPU by way of the shared object with its kernels, libamp_cuda.so.
#ifndef AMP_RUNTIME_DEVICE_RUN_OPEN_DEVICE_H_
#define AMP_RUNTIME_DEVICE_RUN_OPEN_DEVICE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/hardware/hardware.h"

namespace amp {

class Accelerator;

// Errors, all kUnimplemented and one line, the first that applies: no driver; a driver older than what was built with; no
// GPU; none of that number; a compute capability that there are no kernels for; built without CUDA; CUDA's own.
absl::StatusOr<std::shared_ptr<Accelerator>> OpenCudaDevice(int ordinal);

// What of the above a description of the machine tells.
absl::Status CheckCudaDevice(const Hardware& hardware, int ordinal);

// The machine with those GPUs alone that the above has nothing against; where none is left, why is what is against the
// first. What `--target auto`, `--dtype auto` and `--device auto` choose from.
Hardware UsableHardware(Hardware hardware);

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_RUN_OPEN_DEVICE_H_
