// The ranks of a data-parallel run: processes that each train on a share of every batch. Their replicas of the weights
// stay equal, bit for bit, because all ranks use the same means of the gradients.
//
//   std::shared_ptr<PendingMean> mean = ranks.StartMean(gradient);      ... more of the backward pass ...
//   AMP_ASSIGN_OR_RETURN(absl::Span<const float> elements, mean->Wait());
//
// All ranks call the same functions in the same order with as many elements. A sum is taken in the order of ranks, in
// float32 or float64, so that it is the same on all ranks and from run to run. If a rank is lost, every call of the
// others fails instead of waiting for it. One thread uses a group; a session that has one is run by one thread at a
// time.
#ifndef AMP_RUNTIME_PARALLEL_RANK_GROUP_H_
#define AMP_RUNTIME_PARALLEL_RANK_GROUP_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace amp {

// A mean on its way.
class PendingMean {
 public:
  virtual ~PendingMean() = default;
  // The elements live as long as this. Errors: kUnavailable, a rank was lost.
  virtual absl::StatusOr<absl::Span<const float>> Wait() = 0;
};

class RankGroup {
 public:
  virtual ~RankGroup() = default;
  virtual int rank() const = 0;  // from 0
  virtual int size() const = 0;

  // Starts to compute the mean over all ranks of each element, and returns at once.
  virtual std::shared_ptr<PendingMean> StartMean(std::vector<float> values) = 0;
  // Returns the bytes of each rank, in the order of ranks; also a barrier. Errors: kUnavailable, here and below.
  virtual absl::StatusOr<std::vector<std::vector<std::byte>>> Gather(absl::Span<const std::byte> own) = 0;
  // Copies the bytes of rank 0 to all others.
  virtual absl::Status Broadcast(absl::Span<std::byte> bytes) = 0;

  // Waits for the others to do the same, and takes leave of them.
  virtual absl::Status Finish() = 0;
  // Ends this process and all others at once.
  [[noreturn]] virtual void Abort(int exit_code) = 0;
};

}  // namespace amp

#endif  // AMP_RUNTIME_PARALLEL_RANK_GROUP_H_
