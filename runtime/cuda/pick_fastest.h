// Finds the fastest of several ways to compute something.
#ifndef AMP_RUNTIME_CUDA_PICK_FASTEST_H_
#define AMP_RUNTIME_CUDA_PICK_FASTEST_H_

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace amp::cuda {

inline constexpr float kNoTime = std::numeric_limits<float>::infinity();  // the time of a way that does not run

// Returns the index of the fastest way, the first if several are equal, or 0 if none runs. `take_time` measures way i,
// and returns kNoTime if it does not run. Each way is measured once per round, so that a slow moment of the device does
// not hit one way alone, and its best time counts. The first round only warms up.
template <typename TakeTime>
size_t PickFastest(size_t count, const TakeTime& take_time) {
  constexpr int kRounds = 4;
  std::vector<float> best(count, kNoTime);
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < count; ++i) {
      const bool runs = round == 0 || best[i] != kNoTime;
      const float time = runs ? take_time(i) : kNoTime;
      best[i] = round <= 1 ? time : std::min(best[i], time);
    }
  }
  return count == 0 ? 0 : static_cast<size_t>(std::min_element(best.begin(), best.end()) - best.begin());
}

// Returns the time of several runs in a row, in milliseconds. `run` returns whether the run could be started.
template <typename Run>
float TimeOfRuns(cudaStream_t stream, const Run& run) {
  constexpr int kRuns = 4;
  cudaEvent_t begin = nullptr, end = nullptr;
  bool is_ok = cudaEventCreate(&begin) == cudaSuccess && cudaEventCreate(&end) == cudaSuccess &&
               cudaEventRecord(begin, stream) == cudaSuccess;
  for (int i = 0; i < kRuns && is_ok; ++i) is_ok = run();
  float milliseconds = 0;
  is_ok = is_ok && cudaEventRecord(end, stream) == cudaSuccess && cudaEventSynchronize(end) == cudaSuccess &&
          cudaEventElapsedTime(&milliseconds, begin, end) == cudaSuccess;
  if (begin != nullptr) static_cast<void>(cudaEventDestroy(begin));
  if (end != nullptr) static_cast<void>(cudaEventDestroy(end));
  if (!is_ok) static_cast<void>(cudaGetLastError());  // clears the error, which the next kernel would return
  return is_ok ? milliseconds : kNoTime;
}

// Whether the stream's work is being captured, so that it takes no time now.
inline bool IsCapturing(cudaStream_t stream) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(stream, &capture) != cudaSuccess || capture != cudaStreamCaptureStatusNone;
}

}  // namespace amp::cuda

#endif  // AMP_RUNTIME_CUDA_PICK_FASTEST_H_
