#include "tools/train/batch_plan.h"

#include "ir/base/status.h"

namespace amp {

absl::Span<const int64_t> BatchPlan::RowsOf(absl::Span<const int64_t> order, int64_t step, int rank) const {
  const int64_t share = (step == count - 1 && last > 0 ? last : batch) / num_ranks;
  return order.subspan(static_cast<size_t>(step * batch + rank * share), static_cast<size_t>(share));
}

absl::StatusOr<BatchPlan> PlanBatches(int64_t num_samples, int64_t batch, bool drop_last, int num_ranks) {
  if (batch % num_ranks != 0) {
    return UsageError("--batch: expected a multiple of ", num_ranks, ", the number of ranks, found ", batch);
  }
  BatchPlan plan{.batch = batch, .num_ranks = num_ranks};
  const int64_t rest = drop_last ? 0 : num_samples % batch;
  plan.left_out = rest % num_ranks;
  plan.last = rest - plan.left_out;
  plan.count = num_samples / batch + (plan.last > 0 ? 1 : 0);
  if (plan.count > 0) return plan;
  if (drop_last) return UsageError("--drop-last: expected ", batch, " samples for a batch, found ", num_samples);
  return UsageError("expected a sample for each of ", num_ranks, " ranks, found ", num_samples);
}

}  // namespace amp
