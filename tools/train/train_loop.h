// The loop of amp-train: epochs of steps over a data set, tests, checkpoints, and what is printed meanwhile.
#ifndef AMP_TOOLS_TRAIN_TRAIN_LOOP_H_
#define AMP_TOOLS_TRAIN_TRAIN_LOOP_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "tools/data/data_set.h"
#include "tools/library/trainer.h"
#include "tools/program/tool_output.h"
#include "tools/train/batch_plan.h"
#include "tools/train/evaluator.h"
#include "tools/train/ranks.h"
#include "tools/train/train_arguments.h"
#include "tools/train/train_progress.h"

namespace amp {

// The objects that a run needs, made before its first step.
struct TrainTask {
  const TrainArguments* arguments = nullptr;
  Trainer* trainer = nullptr;
  const DataSet* data = nullptr;
  BatchPlan plan;
  Ranks* ranks = nullptr;
  const Evaluator* evaluator = nullptr;  // null: nothing is tested
  const ToolStreams* streams = nullptr;
  std::function<int()> caught;              // a signal that asks to stop, or 0
  std::function<void(int64_t)> saved_best;  // is told the epoch, from 1, whose model --save-best wrote
};

// Whether --patience has run out.
bool HasStoppedEarly(const TrainArguments& arguments, const TrainProgress& progress);

// How many steps in a row may be skipped at the least loss scale before that is said aloud, and how many in a row end a
// run: a loss scale of 2^49 would have come down to 1 by then.
inline constexpr int64_t kSkipsAtFloorWorthAWarning = 10, kMostSkips = 50;

// Goes on from `progress` to the end, or until a signal comes to any rank. Returns the signal; 0: the end. All ranks
// have the same progress; the first one writes files. Errors: those of steps, tests, files and ranks;
// kFailedPrecondition, kMostSkips steps in a row were skipped, with the first value that is not finite;
// kPermissionDenied, a file would get NaN.
absl::StatusOr<int> RunTrainLoop(const TrainTask& task, TrainProgress& progress);

}  // namespace amp

#endif  // AMP_TOOLS_TRAIN_TRAIN_LOOP_H_
