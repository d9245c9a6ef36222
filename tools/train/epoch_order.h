// In which order an epoch goes through the samples.
#ifndef AMP_TOOLS_TRAIN_EPOCH_ORDER_H_
#define AMP_TOOLS_TRAIN_EPOCH_ORDER_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace amp {

// The numbers from 0 to `num_samples` - 1: as they are without a seed, else shuffled, each epoch anew. They depend on
// nothing else, on no machine and no earlier epoch, so that seed, epoch and position are all that a checkpoint needs.
std::vector<int64_t> EpochOrder(int64_t num_samples, std::optional<uint64_t> seed, int64_t epoch);

}  // namespace amp

#endif  // AMP_TOOLS_TRAIN_EPOCH_ORDER_H_
