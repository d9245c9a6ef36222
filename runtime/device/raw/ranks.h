// Means that the devices of several ranks take of what each of them has, without a way through the processor's memory.
//
//   rank 0                          all                                   all, as often as there are gradients
//   name_ranks -> id                join_ranks(id, rank, size)            start_fold(gradient) ... await_folds()
//
// Between start_fold and await_folds the devices talk to each other, while kernels that do not touch the values go on.
#ifndef AMP_RUNTIME_DEVICE_RAW_RANKS_H_
#define AMP_RUNTIME_DEVICE_RAW_RANKS_H_

#include <cstddef>
#include <cstdint>

namespace amp::device {

inline constexpr size_t kRanksIdBytes = 128;
inline constexpr size_t kMaxRanksText = 256;
inline constexpr int kNoRanks = -3;  // the device's library for it is missing

enum class Fold : int32_t {
  kMean,   // of float32
  kLeast,  // of uint8: whether a bool is true on all
};

// In place. All ranks ask for the same ones in the same order.
struct FoldArguments {
  void* values;
  size_t count;
  Fold fold;
};

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_RANKS_H_
