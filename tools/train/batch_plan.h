// Which samples of an epoch are a step's, and which of those a rank's.
//
//   9 samples, --batch 4, 2 ranks      0 1 | 2 3     4 5 | 6 7     8 is left out: two ranks cannot share it
#ifndef AMP_TOOLS_TRAIN_BATCH_PLAN_H_
#define AMP_TOOLS_TRAIN_BATCH_PLAN_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace amp {

struct BatchPlan {
  int64_t batch = 0;     // samples of a step, of all ranks together
  int64_t last = 0;      // the same of the last step of an epoch, where that is smaller; else 0
  int64_t count = 0;     // steps of an epoch
  int64_t left_out = 0;  // samples of an epoch that ranks cannot share
  int num_ranks = 1;

  // The samples of one rank in a usual step, and in the last one.
  int64_t UsualShare() const { return (count == 1 && last > 0 ? last : batch) / num_ranks; }
  int64_t LastShare() const { return last / num_ranks; }
  // REQUIRES: `step` is below `count`.
  absl::Span<const int64_t> RowsOf(absl::Span<const int64_t> order, int64_t step, int rank) const;
};

// Errors: kInvalidArgument, a batch that ranks cannot share; no step at all.
absl::StatusOr<BatchPlan> PlanBatches(int64_t num_samples, int64_t batch, bool drop_last, int num_ranks);

}  // namespace amp

#endif  // AMP_TOOLS_TRAIN_BATCH_PLAN_H_
