// Several finished files take their places together: all of them, or none.
//
//   model.onnx.<hash>.data, report.json, model.onnx   each whole under a temporary name
//     -> the directory of the last one is locked, so that runs that write one output take turns
//     -> each is placed; the names that were there before are exchanged, not lost
//     -> the last one decides: if it cannot be placed, the others are taken back
//
// If the process is killed between two system calls, nothing but that step is half done: the next run removes a
// temporary that holds earlier contents.
#ifndef AMP_IR_BASE_REPLACE_FILES_H_
#define AMP_IR_BASE_REPLACE_FILES_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/base/atomic_file.h"

namespace amp {

// Taken by who replaces files in a directory; let go when it is destroyed. Waits up to a minute for another process.
// File systems without locks give one that holds nothing. Errors: kUnavailable; they name `path`.
absl::StatusOr<UniqueFile> LockDirectory(FileSystem& fs, int dir, const std::string& path);

// One of the files, whose directory must outlive the call.
struct Replacement {
  AtomicFile* file;  // finished
  std::string target;
};

// Signals that ask the process to end wait until all is done. Errors: kUnavailable; they name the file.
absl::Status ReplaceFiles(FileSystem& fs, const std::vector<Replacement>& replacements);

}  // namespace amp

#endif  // AMP_IR_BASE_REPLACE_FILES_H_
