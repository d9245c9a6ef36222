// A device and its one stream, on which the functions of its table work.
#ifndef AMP_RUNTIME_CUDA_STREAM_H_
#define AMP_RUNTIME_CUDA_STREAM_H_

#include <cuda_runtime_api.h>

#include "runtime/device/raw/kernels.h"

namespace amp::cuda {

// The object that `self` points to in the table's functions.
struct OpenDevice {
  int ordinal = 0;
  cudaStream_t stream = nullptr;
};

// Makes the calling thread use the device; other code may have made it use another one.
inline int UseDevice(void* self) { return cudaSetDevice(static_cast<OpenDevice*>(self)->ordinal); }
inline cudaStream_t StreamOf(void* self) { return static_cast<OpenDevice*>(self)->stream; }

// Add the kernels of each .cu file to the table.
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
