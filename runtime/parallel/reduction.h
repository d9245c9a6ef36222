// What the ranks of a data-parallel run ask of each other: processes that each train on a share of every batch, and
// whose replicas of the weights stay equal, bit for bit, because all see the same means of the gradients.
//
//   std::shared_ptr<PendingMean> mean = reduction.StartMean(gradient);      ... more of the backward pass ...
//   AMP_ASSIGN_OR_RETURN(absl::Span<const float> elements, mean->Wait());
//
// All ranks call the same functions in the same order with as many elements. A sum is taken in the order of ranks in
// float32 or float64, so that it is the same on all of them and from run to run. A rank that is lost makes every call of
// the others fail instead of waiting for it. Of one thread; a session that uses one is run by one thread at a time.
#ifndef AMP_RUNTIME_PARALLEL_REDUCTION_H_
#define AMP_RUNTIME_PARALLEL_REDUCTION_H_

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

class Reduction {
 public:
  virtual ~Reduction() = default;
  virtual int rank() const = 0;  // from 0
  virtual int size() const = 0;

  // Returns at once. The sum of all ranks' values, in the order of ranks, over their number.
  virtual std::shared_ptr<PendingMean> StartMean(std::vector<float> values) = 0;
  // What each rank has, in the order of ranks: also a barrier. Errors: kUnavailable, here and below.
  virtual absl::StatusOr<std::vector<std::vector<std::byte>>> Gather(absl::Span<const std::byte> own) = 0;
  // What rank 0 has becomes what all have.
  virtual absl::Status Broadcast(absl::Span<std::byte> bytes) = 0;

  // Waits for the others to do the same, and takes leave of them.
  virtual absl::Status Finish() = 0;
  // Ends this process and all others at once.
  [[noreturn]] virtual void Abort(int exit_code) = 0;
};

}  // namespace amp

#endif  // AMP_RUNTIME_PARALLEL_REDUCTION_H_
