// The kind of a file, judged by its first bytes, so that a file is replaced only by one of its own kind.
//
//   50 4b 03 04 ...                  an archive: npz, zip; a checkpoint of training, if its first member is the
//                                    description of one
//   93 'NUMPY' ...                   an array: npy
//   {"traceEvents": [ ...            JSON
//   <!doctype html>               HTML
//   epoch,loss,accuracy              CSV: two fields or more in the first line, and as many in the second
//   08 0a 12 07 'pytorch' 3a ...     an ONNX model: fields of a ModelProto, a graph among them
//
// An empty file may become anything.
#ifndef AMP_IR_BASE_FILE_KIND_H_
#define AMP_IR_BASE_FILE_KIND_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ir/base/file_system.h"

namespace amp {

enum class FileKind { kEmpty, kModel, kArchive, kCheckpoint, kArray, kJson, kHtml, kCsv, kList, kOther };

// "an ONNX model"
absl::string_view KindText(FileKind kind);

// Reads the first bytes, and of a model the headers of its fields. Errors: kUnavailable.
absl::StatusOr<FileKind> FindKind(FileSystem& fs, int file, int64_t size_bytes);

// The content that is about to be written where a file may be already.
struct NewContent {
  FileKind kind = FileKind::kOther;
  bool force = false;  // over a file of another kind too: --force
};

// Whether the regular file `name` of the directory `dir`, described by `info`, may be replaced by `content`.
// Errors: kPermissionDenied, a file of another kind; kUnavailable. They do not name the path.
absl::Status CheckKind(FileSystem& fs, int dir, const std::string& name, const struct stat& info,
                       const NewContent& content);

}  // namespace amp

#endif  // AMP_IR_BASE_FILE_KIND_H_
