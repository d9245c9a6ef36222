// The device that a table of functions is for, and its one stream.
#ifndef AMP_RUNTIME_CUDA_STREAM_H_
#define AMP_RUNTIME_CUDA_STREAM_H_

#include <cuda_runtime_api.h>

#include "runtime/device/raw/kernels.h"

namespace amp::cuda {

// What `self` is in the table's functions.
struct OpenDevice {
  int ordinal = 0;
  cudaStream_t stream = nullptr;
};

// Each thread has a device that it uses, which others may have changed.
inline int UseDevice(void* self) { return cudaSetDevice(static_cast<OpenDevice*>(self)->ordinal); }
inline cudaStream_t StreamOf(void* self) { return static_cast<OpenDevice*>(self)->stream; }

// The kernels, by file.
void AddConvolutionLaunches(device::LaunchTable& table);
void AddElementwiseLaunches(device::LaunchTable& table);
void AddGradientLaunches(device::LaunchTable& table);
void AddMoveLaunches(device::LaunchTable& table);
void AddQuantizedLaunches(device::LaunchTable& table);
void AddRowLaunches(device::LaunchTable& table);
void AddSelectLaunches(device::LaunchTable& table);
void AddTrainingLaunches(device::LaunchTable& table);

}  // namespace amp::cuda

#endif  // AMP_RUNTIME_CUDA_STREAM_H_
