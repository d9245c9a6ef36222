// How the kernels are named and started, both on a device and by the fake device.
//
// A kernel is the struct of its arguments and a function that starts it with a runner:
//
//   struct MapArguments { static constexpr Kernel kKernel = Kernel::kMap; ... };
//   template <typename Runner> int Start(Runner& runner, const MapArguments& map) {
//     ... return runner.ForEach(map.count, MapBody<T>{map});
//   }
//
// A runner has two ways to run a body. They return 0, or an error of the runner's kind:
//   ForEach(count, body)          body(i) for each i < count, in any order
//   ForRows(rows, body, length)   body(row, team) for each row, of about `length` elements; a team is the threads that
//                                 share a row, see rows.h
#ifndef AMP_RUNTIME_DEVICE_RAW_KERNELS_H_
#define AMP_RUNTIME_DEVICE_RAW_KERNELS_H_

#include <cstddef>
#include <cstdint>

namespace amp::device {

enum class Kernel : int32_t {
  kMap,
  kConvert,
  kZip,
  kZipIntegers,
  kCompare,
  kChoose,
  kCopyStrided,
  kCopyBlocks,
  kCopyPicked,
  kCopyRuns,
  kReduce,
  kSoftmax,
  kNormalize,
  kNormalizeChannels,
  kPool,
  kConvolve,
  kChain,
  kFindExtremes,
  kSelectTop,
  kResample,
  kNormalizeNeighbours,
  kAttend,
  kScatterRuns,
  kRecurrentStep,
  kOptimize,
  kCheckFinite,
  kUpdateLossScale,
  kAdamRate,
  kCrossEntropy,
  kCrossEntropyGradient,
  kPartMoments,
  kJoinMoments,
  kPartSums,
  kJoinSums,
  kChannelGradient,
  kRowGradient,
  kSumColumns,
  kJoinColumns,
  kSpreadWindows,
  kConvolveForWeights,
  kAddPickedRows,
  kResetHidden,
  kQuantize,
  kDequantize,
  kFindRange,
  kQuantizedPair,
  kQuantizedTable,
  kQuantizedMean,
  kMultiply,
  kReduceParts,
  kSoftmaxParts,
  kSoftmaxOfParts,
  kNormalizeParts,
  kNormalizeOfParts,
  kMultiplyIntegers,
  kConvolveIntegers,
  kJoinPlanes,
  kCompareAndChoose,
};
inline constexpr size_t kNumKernels = static_cast<size_t>(Kernel::kCompareAndChoose) + 1;

// Rows with at least this length get a whole block of threads.
inline constexpr uint32_t kLongRow = 512;

// The error that Start returns for arguments that it does not support: a bug of the caller.
inline constexpr int kBadArguments = -1;

// Starts a kernel with the arguments of its struct. Returns 0, or an error.
using Launch = int (*)(void* self, const void* arguments);
struct LaunchTable {
  Launch launches[kNumKernels] = {};
};

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_KERNELS_H_
