// The middle part of attention: turns products of queries and keys into probabilities.
//
//   scores [batch, heads, queries, keys]   =>   softmax (cap (scores) + mask), without barred keys
#ifndef AMP_RUNTIME_DEVICE_RAW_ATTENTION_H_
#define AMP_RUNTIME_DEVICE_RAW_ATTENTION_H_

#include <cmath>
#include <cstdint>

#include "runtime/device/raw/chain.h"
#include "runtime/device/raw/element.h"
#include "runtime/device/raw/kernels.h"
#include "runtime/device/raw/rows.h"

namespace amp::device {

// Arguments of the kernel. A row whose keys are all barred becomes zeros. A mask of kBool bars keys whose element is
// false.
struct AttendArguments {
  static constexpr Kernel kKernel = Kernel::kAttend;
  const float* scores;
  void* probabilities;  // may be the scores, if these have its type
  const void* mask;     // null: none
  Storage storage, mask_storage;
  uint32_t rows, heads, queries, keys;
  uint32_t mask_keys;       // keys from this one on are barred
  int64_t mask_strides[4];  // 0: broadcast
  float soft_cap;           // 0: none
  bool is_causal;           // query i attends to keys up to i + past
  int64_t past;
  int64_t left, right;  // how far from i + past it attends; below 0: without bound
};

template <typename T>
struct AttendBody {
  AttendArguments attend;

  AMP_BOTH float MaskAt(int64_t first, uint32_t key) const {
    if (attend.mask == nullptr) return 0;
    if (key >= attend.mask_keys) return -kInfinity;
    const float x = LoadAsFloat(attend.mask, attend.mask_storage, first + key * attend.mask_strides[3]);
    if (attend.mask_storage != Storage::kBool) return x;
    return x != 0 ? 0 : -kInfinity;
  }

  AMP_BOTH bool IsBarred(uint32_t query, uint32_t key) const {
    const int64_t position = query + attend.past;
    return (attend.is_causal && key > position) || (attend.left >= 0 && key < position - attend.left) ||
           (attend.right >= 0 && key > position + attend.right);
  }

  template <typename Team>
  AMP_BOTH void operator()(uint32_t row, Team& team) const {
    const uint32_t query = row % attend.queries, head = row / attend.queries % attend.heads;
    const uint32_t batch = row / attend.queries / attend.heads;
    const int64_t* const strides = attend.mask_strides;
    const int64_t mask = batch * strides[0] + head * strides[1] + query * strides[2];
    const float* const scores = attend.scores + static_cast<int64_t>(row) * attend.keys;
    T* const y = static_cast<T*>(attend.probabilities) + static_cast<int64_t>(row) * attend.keys;
    const auto score = [=, this](uint32_t key) {
      if (IsBarred(query, key)) return -kInfinity;
      const float x = scores[key];
      return (attend.soft_cap > 0 ? attend.soft_cap * tanhf(x / attend.soft_cap) : x) + MaskAt(mask, key);
    };
    const float largest = team.Max(attend.keys, score);
    if (largest == -kInfinity) {
      team.ForEach(attend.keys, [=](uint32_t key) { y[key] = Narrow<T>(0); });
      return;
    }
    const float sum = team.Sum(attend.keys, [=](uint32_t key) { return expf(score(key) - largest); });
    team.ForEach(attend.keys, [=](uint32_t key) { y[key] = Narrow<T>(expf(score(key) - largest) / sum); });
  }
};

template <typename Runner>
int Start(Runner& runner, const AttendArguments& attend) {
  return VisitFloat(attend.storage, kBadArguments, [&]<typename T>(Tag<T>) {
    return runner.ForRows(attend.rows, AttendBody<T>{attend}, attend.keys);
  });
}

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_ATTENTION_H_
