// Stands in for CUDA's runtime where files of runtime/cuda are tested by themselves. Memory is the processor's, the
// device is an H200, and the test says how much memory is left. Programs with it are not linked with CUDA's own one.
#ifndef AMP_TESTS_RUNTIME_DEVICE_FAKE_CUDA_RUNTIME_H_
#define AMP_TESTS_RUNTIME_DEVICE_FAKE_CUDA_RUNTIME_H_

#include <cstddef>

namespace amp {

struct FakeCudaRuntime {
  size_t room_bytes = size_t{1} << 40;
  int live_blocks = 0;
  int last_error = 0;
  float now_ms = 0;  // the device's clock, for whoever is tested to move on
  bool is_capturing = false;
};
FakeCudaRuntime& FakeCuda();

}  // namespace amp

#endif  // AMP_TESTS_RUNTIME_DEVICE_FAKE_CUDA_RUNTIME_H_
