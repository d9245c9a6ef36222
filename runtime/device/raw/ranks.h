// All-reduces over the devices of several ranks, without copies through the processor's memory.
//
//   rank 0                    all ranks                          all ranks, for each gradient
//   name_ranks -> id          join_ranks(id, rank, size)         start_all_reduce(gradient) ... await_all_reduces()
//
// Between start_all_reduce and await_all_reduces the devices exchange data. Kernels that do not use the values go on.
#ifndef AMP_RUNTIME_DEVICE_RAW_RANKS_H_
#define AMP_RUNTIME_DEVICE_RAW_RANKS_H_

#include <cstddef>
#include <cstdint>

namespace amp::device {

inline constexpr size_t kRanksIdBytes = 128;
inline constexpr size_t kMaxRanksText = 256;
inline constexpr int kNoRanks = -3;  // the device's library for it is missing

enum class AllReduce : int32_t {
  kMean,   // of float32
  kLeast,  // of uint8: whether a bool is true on all ranks
};

// An all-reduce in place. All ranks start the same ones in the same order.
struct AllReduceArguments {
  void* values;
  size_t count;
  AllReduce operation;
};

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_RANKS_H_
