// TrainOptions (tools/library/amp.h), checked, and as the passes take them.
#ifndef AMP_TOOLS_LIBRARY_TRAIN_OPTIONS_H_
#define AMP_TOOLS_LIBRARY_TRAIN_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "passes/train/step_settings.h"
#include "tools/library/flag_table.h"
#include "tools/library/rewrite_options.h"

namespace amp {

// The training flags that are set, in the order of --help; --train is left out.
std::vector<SetFlag> SetTrainFlags(const TrainOptions& options);

// Checks the combination with other options. Errors: kInvalidArgument.
absl::Status CheckTrainOptions(const RewriteOptions& options);

// REQUIRES: CheckTrainOptions passed, options.train.train. `compute`: the type that products are computed in.
// kInvalidArgument for numbers out of range, texts of another form, and flags without effect.
absl::StatusOr<StepSettings> MakeStepSettings(const TrainOptions& options, DType compute);

// Whether a training graph is to get a loss scale, rather than a forward model a training step.
bool WrapsTrainingGraph(const TrainOptions& options);
// REQUIRES: CheckTrainOptions passed, WrapsTrainingGraph(options). Errors as above.
absl::StatusOr<WrapSettings> MakeWrapSettings(const TrainOptions& options);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_TRAIN_OPTIONS_H_
