// Opens an NVIDIA GPU through the shared object that holds its kernels, libamp_cuda.so.
#ifndef AMP_RUNTIME_DEVICE_RUN_OPEN_DEVICE_H_
#define AMP_RUNTIME_DEVICE_RUN_OPEN_DEVICE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/hardware/hardware.h"

namespace amp {

class Accelerator;

// Opens the GPU with this number. Errors are all kUnimplemented and one line long; the first that applies is reported:
// no driver; a driver older than this build's CUDA; no GPU; no GPU of that number; a compute capability without
// kernels; built without CUDA; an error of CUDA.
absl::StatusOr<std::shared_ptr<Accelerator>> OpenCudaDevice(int ordinal);

// Reports those of the errors above that a description of the machine shows.
absl::Status CheckCudaDevice(const Hardware& hardware, int ordinal);

// Returns the machine with only those GPUs that CheckCudaDevice accepts; if none is left, `no_gpu_why` is its error for
// the first GPU. `--target auto`, `--dtype auto` and `--device auto` choose from the result.
Hardware UsableHardware(Hardware hardware);

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_RUN_OPEN_DEVICE_H_
