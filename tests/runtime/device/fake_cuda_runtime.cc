#include "tests/runtime/device/fake_cuda_runtime.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "runtime/cuda/stream.h"

namespace amp {

FakeCudaRuntime& FakeCuda() {
  static FakeCudaRuntime fake;
  return fake;
}

}  // namespace amp

extern "C" {

cudaError_t cudaMalloc(void** memory, size_t size_bytes) {
  amp::FakeCudaRuntime& fake = amp::FakeCuda();
  if (size_bytes > fake.room_bytes) {
    fake.last_error = cudaErrorMemoryAllocation;
    return cudaErrorMemoryAllocation;
  }
  fake.room_bytes -= size_bytes;
  ++fake.live_blocks;
  *memory = std::malloc(1);
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  --amp::FakeCuda().live_blocks;
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return static_cast<cudaError_t>(std::exchange(amp::FakeCuda().last_error, 0)); }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::snprintf(properties->name, sizeof(properties->name), "NVIDIA H200");
  properties->major = 9;
  properties->minor = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrComputeCapabilityMajor ? 9 : 0;
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = amp::FakeCuda().is_capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
// Events are when they were recorded.
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = reinterpret_cast<cudaEvent_t>(new float(0));
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  *reinterpret_cast<float*>(event) = amp::FakeCuda().now_ms;
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete reinterpret_cast<float*>(event);
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  *milliseconds = *reinterpret_cast<float*>(end) - *reinterpret_cast<float*>(begin);
  return cudaSuccess;
}

}  // extern "C"
