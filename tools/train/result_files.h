// What a run of training writes, looked at before the first step: an hour of training must not end at a path.
#ifndef AMP_TOOLS_TRAIN_RESULT_FILES_H_
#define AMP_TOOLS_TRAIN_RESULT_FILES_H_

#include "absl/status/status.h"
#include "tools/train/train_arguments.h"

namespace amp {

// Errors: kInvalidArgument, a result that would replace what the run reads, or another result (a checkpoint may replace
// the one that the run goes on from); kUnavailable or kPermissionDenied, one that cannot be written: a folder, device or
// read-only file, a folder that is not there or not writable, a full disk. What is there stays as it is.
absl::Status CheckResultFiles(const TrainArguments& arguments);

}  // namespace amp

#endif  // AMP_TOOLS_TRAIN_RESULT_FILES_H_
