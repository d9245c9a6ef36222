// Runs the bodies of runtime/device/raw on a stream: one thread per element, or one block or warp per row.
#ifndef AMP_RUNTIME_CUDA_STREAM_RUNNER_CUH_
#define AMP_RUNTIME_CUDA_STREAM_RUNNER_CUH_

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "runtime/cuda/stream.h"
#include "runtime/device/raw/kernels.h"
#include "runtime/device/raw/rows.h"

namespace amp::cuda {

inline constexpr uint32_t kThreads = 256, kWarp = 32, kWarps = kThreads / kWarp;
inline constexpr uint32_t kMostBlocks = 1u << 20;  // per launch; further elements are computed in turns

template <typename T, typename Join>
__device__ T JoinedInWarp(T x, Join join) {
  for (uint32_t step = kWarp / 2; step > 0; step /= 2) x = join(x, __shfl_xor_sync(0xffffffffu, x, step));
  return x;
}

// Combine the values of a team's threads into one, and return it to all of them.
struct JoinedInBlock {
  static constexpr uint32_t kTeam = kThreads;

  template <typename T, typename Join>
  static __device__ T Joined(T x, T nothing, Join join) {
    __shared__ T of_warps[kWarps];
    const uint32_t lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    x = JoinedInWarp(x, join);
    __syncthreads();  // all threads have read the array's previous content
    if (lane == 0) of_warps[warp] = x;
    __syncthreads();
    return JoinedInWarp(lane < kWarps ? of_warps[lane] : nothing, join);
  }
};
struct JoinedInOneWarp {
  static constexpr uint32_t kTeam = kWarp;

  template <typename T, typename Join>
  static __device__ T Joined(T x, T, Join join) {
    return JoinedInWarp(x, join);
  }
};

// The threads that share a row: those of a block or of a warp.
template <typename Threads>
class Team {
 public:
  __device__ bool IsFirst() const { return threadIdx.x % Threads::kTeam == 0; }

  template <typename Of>
  __device__ void ForEach(uint32_t count, Of of) const {
    for (uint32_t i = threadIdx.x % Threads::kTeam; i < count; i += Threads::kTeam) of(i);
  }

  template <typename Of>
  __device__ float Sum(uint32_t count, Of of) const {
    float sum = 0;
    ForEach(count, [&](uint32_t i) { sum += of(i); });
    return Threads::Joined(sum, 0.0f, [](float a, float b) { return a + b; });
  }

  template <typename Of>
  __device__ float Max(uint32_t count, Of of) const {
    float largest = -device::kInfinity;
    ForEach(count, [&](uint32_t i) { largest = device::LargerOf(of(i), largest); });
    return Threads::Joined(largest, -device::kInfinity, [](float a, float b) { return device::LargerOf(a, b); });
  }

  template <typename Of>
  __device__ uint64_t MaxKey(uint32_t count, Of of) const {
    const auto larger = [](unsigned long long a, unsigned long long b) { return a > b ? a : b; };
    unsigned long long largest = 0;  // the type that warps can exchange
    ForEach(count, [&](uint32_t i) { largest = larger(of(i), largest); });
    return Threads::Joined(largest, 0ull, larger);
  }
};

// The least number of blocks per multiprocessor; the compiler limits the registers per thread accordingly.
template <typename Body>
inline constexpr int kLeastBlocks = 1;

template <typename Body>
__global__ void __launch_bounds__(kThreads, kLeastBlocks<Body>)
    RunForEach(uint32_t count, const __grid_constant__ Body body) {
  const uint64_t step = static_cast<uint64_t>(gridDim.x) * kThreads;
  for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step) {
    body(static_cast<uint32_t>(i));
  }
}

template <typename Body>
__global__ void __launch_bounds__(kThreads) RunForRows(uint32_t rows, const __grid_constant__ Body body) {
  Team<JoinedInBlock> team;
  for (uint32_t row = blockIdx.x; row < rows; row += gridDim.x) body(row, team);
}

template <typename Body>
__global__ void __launch_bounds__(kThreads) RunForShortRows(uint32_t rows, const __grid_constant__ Body body) {
  Team<JoinedInOneWarp> team;
  const uint32_t warp = threadIdx.x / kWarp;
  for (uint64_t row = static_cast<uint64_t>(blockIdx.x) * kWarps + warp; row < rows; row += gridDim.x * kWarps) {
    body(static_cast<uint32_t>(row), team);
  }
}

class StreamRunner {
 public:
  explicit StreamRunner(cudaStream_t stream) : stream_(stream) {}

  template <typename Body>
  int ForEach(uint32_t count, const Body& body) {
    if (count == 0) return 0;
    const uint32_t blocks = std::min((count - 1) / kThreads + 1, kMostBlocks);
    return Launch(blocks, RunForEach<Body>, count, body);
  }

  template <typename Body>
  int ForRows(uint32_t rows, const Body& body, uint32_t length = device::kLongRow) {
    if (rows == 0) return 0;
    if (length >= device::kLongRow) return Launch(std::min(rows, kMostBlocks), RunForRows<Body>, rows, body);
    return Launch(std::min((rows - 1) / kWarps + 1, kMostBlocks), RunForShortRows<Body>, rows, body);
  }

 private:
  // Returns this launch's own error. cudaGetLastError could return an earlier one of the thread.
  template <typename Kernel, typename Body>
  int Launch(uint32_t blocks, Kernel* kernel, uint32_t count, const Body& body) {
    cudaLaunchConfig_t launch = {};
    launch.gridDim = blocks;
    launch.blockDim = kThreads;
    launch.stream = stream_;
    return cudaLaunchKernelEx(&launch, kernel, count, body);
  }

  cudaStream_t stream_;
};

template <typename Arguments>
int LaunchOnStream(void* self, const void* arguments) {
  if (const int error = UseDevice(self); error != 0) return error;
  StreamRunner runner(StreamOf(self));
  return Start(runner, *static_cast<const Arguments*>(arguments));
}

template <typename... Arguments>
void AddLaunches(device::LaunchTable& table) {
  ((table.launches[static_cast<size_t>(Arguments::kKernel)] = LaunchOnStream<Arguments>), ...);
}

}  // namespace amp::cuda

#endif  // AMP_RUNTIME_CUDA_STREAM_RUNNER_CUH_
