// Which of several ways is the fastest.
#ifndef AMP_RUNTIME_CUDA_PICK_FASTEST_H_
#define AMP_RUNTIME_CUDA_PICK_FASTEST_H_

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace amp::cuda {

inline constexpr float kNoTime = std::numeric_limits<float>::infinity();  // of what does not run

// `take_time`: of one of `count`, kNoTime where it does not run. Each gets its turn in every round, so that a slow moment
// of the device is not that of one alone, and its best time counts; the first round is to warm up. The first of equals,
// or where none runs 0.
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

}  // namespace amp::cuda

#endif  // AMP_RUNTIME_CUDA_PICK_FASTEST_H_
