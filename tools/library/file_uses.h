// One rule about files, for all programs and the library:
//
//   a file that is read is never written to      amp-run m.onnx --inputs s.npz --outputs s.npz: refused
//   no file is written by two flags              amp-rewrite m.onnx -o x --report x: refused
//   a file is replaced by one of its own kind    amp-rewrite m.onnx -o s.npz: refused without --force
//
// Files are told apart by device and inode, so that links and other spellings do not help; those that do not exist yet
// by their full path. A flag that names a file says so in one of three places:
//
//   RewriteFlags()             tools/library/rewrite_flags.cc, in its row
//   FilesOf(RunArguments)      tools/run/run_files.cc
//   FilesOf(TrainArguments)    tools/train/result_files.cc
//
// file_rule_test fails for a flag that takes a file and is in none of them. Pairs of flags that may name one file are
// in a table in file_uses.cc.
#ifndef AMP_TOOLS_LIBRARY_FILE_USES_H_
#define AMP_TOOLS_LIBRARY_FILE_USES_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "ir/base/file_kind.h"
#include "ir/base/limits.h"

namespace amp {

class ExternalData;

// A path of "" stands for no file, here and below. A path "-" is refused: where a flag takes it for standard output, no
// file is declared.
struct FileRead {
  std::string flag;  // "--inputs", or "MODEL" for the argument without one
  std::string path;
  std::optional<std::pair<dev_t, ino_t>> opened = {};  // of a file that is open: then the path is for messages alone
};

struct FileWritten {
  std::string flag, path;
  FileKind kind = FileKind::kOther;
};

struct FileUses {
  std::vector<FileRead> reads = {};
  std::vector<FileWritten> writes = {};
  bool force = false;  // files of other kinds may be replaced; the other two rules hold
};

// The files that a model's weights are in. Known once it is loaded: check again then.
void AddDataFiles(const std::string& flag, const ExternalData& external, FileUses& uses);
// Adds the files of a model that is loaded later. A model that cannot be loaded adds none: loading will say why.
void AddDataFilesOf(const std::string& flag, const std::string& model, const Limits& limits, FileUses& uses);

// To be called before any work, and again when more files are known. Errors: kPermissionDenied, with the file and both
// flags; kInvalidArgument for "-"; kUnavailable. Devices and pipes may be read and written.
absl::Status CheckFileUses(const FileUses& uses);

// Whether each file can be written: its folder is there, and what is there in its place may be replaced. A file that is
// read first (--autotune) is left out: it may be that nothing new is written there. Errors:
// kInvalidArgument, kPermissionDenied, kUnavailable, naming the file.
absl::Status CheckTargets(const FileUses& uses);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_FILE_USES_H_
