// The means over ranks that one run of a step graph takes: small tensors travel together, as soon as there are enough.
//
//   means.Start(key, gradient)     in a bucket; a full one is sent off, and the backward pass goes on
//   means.Take(key, mean)          sends the last bucket, and waits for the one that holds the tensor
//
// Buckets fill in the order of Start, which is the graph's, and so the same on all ranks.
#ifndef AMP_RUNTIME_PARALLEL_MEANS_OVER_RANKS_H_
#define AMP_RUNTIME_PARALLEL_MEANS_OVER_RANKS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/parallel/rank_group.h"

namespace amp {

inline constexpr size_t kUsualBucket = size_t{1} << 20;  // elements: 4 MiB

class MeansOverRanks {
 public:
  // `ranks` must outlive this.
  explicit MeansOverRanks(RankGroup& ranks, size_t bucket = kUsualBucket) : ranks_(ranks), bucket_(bucket) {}

  RankGroup& ranks() { return ranks_; }
  // `key`: any number that is the tensor's own within this run. Copies the values.
  void Start(int64_t key, absl::Span<const float> values);
  // Once per key. REQUIRES: as many elements as were given. Errors: kDataLoss, no such key; those of PendingMean::Wait.
  absl::Status Take(int64_t key, absl::Span<float> mean);

 private:
  struct Place {
    size_t bucket = 0, first = 0;
  };
  void SendBucket();

  RankGroup& ranks_;
  size_t bucket_;
  std::vector<float> open_;
  std::vector<std::shared_ptr<PendingMean>> sent_;
  absl::flat_hash_map<int64_t, Place> places_;
};

}  // namespace amp

#endif  // AMP_RUNTIME_PARALLEL_MEANS_OVER_RANKS_H_
