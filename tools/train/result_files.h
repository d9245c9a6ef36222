// Checks the files that a run of training writes before its first step: an hour of training must not end at a path.
#ifndef AMP_TOOLS_TRAIN_RESULT_FILES_H_
#define AMP_TOOLS_TRAIN_RESULT_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "ir/base/file_kind.h"
#include "tools/library/file_uses.h"
#include "tools/library/trainer.h"
#include "tools/train/train_arguments.h"

namespace amp {

// kHtml for a path that ends in ".html", else kCsv.
FileKind KindOfLog(const std::string& path);

// The files that flags name: see the rule in tools/library/file_uses.h. A new flag that names a file is declared here.
FileUses FilesOf(const TrainArguments& arguments);

// Errors: kUnavailable or kPermissionDenied, a result that cannot be written: a folder, device or
// read-only file, a folder that is not there or not writable, a full disk. What is there stays as it is.
absl::Status CheckResultFiles(const TrainArguments& arguments);
// The rule again for the data files of the step graph and of the forward model.
absl::Status CheckDataFiles(const TrainArguments& arguments, const Trainer& trainer);

}  // namespace amp

#endif  // AMP_TOOLS_TRAIN_RESULT_FILES_H_
