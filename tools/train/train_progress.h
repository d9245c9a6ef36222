// How far a training run is: what it prints, logs, and keeps in a checkpoint beside the state of the step graph.
#ifndef AMP_TOOLS_TRAIN_TRAIN_PROGRESS_H_
#define AMP_TOOLS_TRAIN_TRAIN_PROGRESS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tools/train/loss_curve.h"

namespace amp {

// Sums over the steps of one epoch so far.
struct EpochTotals {
  int64_t steps = 0, skipped = 0;
  int64_t samples = 0;  // of steps that were done: of those are the sums below
  double loss = 0;      // times samples
  int64_t judged = 0, right = 0;
  int64_t measured = 0;       // samples that were compared with targets
  double absolute_error = 0;  // times those
  double seconds = 0;

  double MeanLoss() const;  // NaN where no step was done
  std::optional<double> Accuracy() const;
  std::optional<double> MeanAbsoluteError() const;
  bool operator==(const EpochTotals&) const = default;
};

struct EpochRecord {
  int64_t epoch = 0;  // from 1
  EpochTotals totals;
  double learning_rate = 0, loss_scale = 1;  // at its end
  std::optional<double> test_loss, test_accuracy;
  std::optional<double> test_absolute_error = std::nullopt;
  bool operator==(const EpochRecord&) const = default;
};

struct TrainProgress {
  // Which samples a step gets. A run that goes on in the middle of an epoch must be given the same.
  int64_t batch = 0, num_samples = 0;
  bool drop_last = false;
  std::optional<uint64_t> shuffle;
  double base_rate = 0;                      // that schedules start from
  std::map<std::string, std::string> flags;  // as StepFlags gives them

  int64_t epoch = 0, next_batch = 0;  // from 0
  EpochTotals totals;
  int64_t skips_in_a_row = 0, skips_at_floor = 0;
  double loss_scale = 1;
  std::vector<EpochRecord> history;
  LossCurve curve;
  bool operator==(const TrainProgress&) const = default;
};

// JSON, exact.
std::string ProgressJson(const TrainProgress& progress);
// Errors: kInvalidArgument.
absl::StatusOr<TrainProgress> ParseProgress(absl::string_view json);

// Flags of a run that goes on whose values are others than those of the run before: "--batch 64 (was 128), --shuffle 1
// (was none)"; "" where there are none.
std::string ChangesSince(const std::map<std::string, std::string>& before,
                         const std::map<std::string, std::string>& now);

// Whether a step graph has a loss scale, and whether it may skip a step.
struct StepChecks {
  bool has_scale = false, may_skip = false;
};

// "epoch 2/5  loss 0.2817  accuracy 0.9171  loss scale 32768  skipped 1  1.62 ms/step  test accuracy 0.9231"
std::string EpochLine(const EpochRecord& record, int64_t num_epochs, StepChecks checks);

// The epoch with the least test loss, from 1, the first of equal ones; 0 where none is a number.
int64_t BestEpoch(const std::vector<EpochRecord>& history);
// How many epochs there were since the best one, or since the first where none is.
int64_t EpochsSinceBest(const std::vector<EpochRecord>& history);

// A table with a row per epoch. Those that compare with targets have columns of absolute errors at its end.
std::string HistoryCsv(const std::vector<EpochRecord>& history);

}  // namespace amp

#endif  // AMP_TOOLS_TRAIN_TRAIN_PROGRESS_H_
