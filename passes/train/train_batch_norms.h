// BatchNormalizations whose scale or shift is trained use the batch's own statistics, and keep running ones:
//
//   y = BatchNormalization (x, scale, shift, mean, var)
//   y, mean.next, var.next = BatchNormalization <training_mode = 1> (x, scale, shift, mean, var)     mean, var: states
//
// One whose scale and shift are frozen stays what it is: its statistics are constants like its weights.
#ifndef AMP_PASSES_TRAIN_TRAIN_BATCH_NORMS_H_
#define AMP_PASSES_TRAIN_TRAIN_BATCH_NORMS_H_

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "passes/train/step_graph.h"

namespace amp {

struct RunningStatistic {
  ValueId state = kNone, next = kNone;
};

// Adds the states; the caller sets their next values. REQUIRES: opset 14 or newer. Types of new values have to be
// inferred. Error, kDataLoss: statistics that are no float32 initializer, or that two nodes would change.
absl::StatusOr<std::vector<RunningStatistic>> TrainBatchNorms(StepGraph& step,
                                                              const absl::flat_hash_set<ValueId>& trained);

}  // namespace amp

#endif  // AMP_PASSES_TRAIN_TRAIN_BATCH_NORMS_H_
