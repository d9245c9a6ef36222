// Whose a data file is, and when it may go.
//
//   "m.onnx.<16 hex digits>.data" is the data file of the model "m.onnx" beside it, and of no other. A model is never
//   written so that it refers to the data file of another one: a copy gets a data file of its own.
//
//   It is removed only when m.onnx is replaced by a model that does not refer to it, and even then stays, with a note,
//   if the input is read from it (unless the input is what is replaced), if it is read-only, or if another file of the
//   folder, or a model of the folder above, names it: somebody may have copied the model. Data files of other names are
//   never removed.
//
// Not seen: models further up that refer into this folder, and symbolic links elsewhere that point into it.
#ifndef AMP_IR_FILE_DATA_FILES_H_
#define AMP_IR_FILE_DATA_FILES_H_

#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "ir/base/file_system.h"

namespace amp {

class ExternalData;

// The model that a data file is of, by its name: "m.onnx" for "m.onnx.0123456789abcdef.data"; "" for other names.
absl::string_view OwnerOfDataFile(absl::string_view name);

// A model file that is about to be replaced, or has just been.
struct ReplacedModel {
  std::string name;                      // "m.onnx", in the directory
  std::set<std::string> old_references;  // locations of the external data of what was there
  std::set<std::string> new_references;  // and of what is there then
  const ExternalData* input = nullptr;   // what the new model was made from, unless that is what is replaced
};

struct OldDataFiles {
  std::vector<std::string> to_remove;
  std::vector<std::string> notes;  // a sentence for each that is left
};
// Reads the other files of the directory where it has to, at most 2 GiB of them.
OldDataFiles JudgeOldDataFiles(FileSystem& fs, int dir, const ReplacedModel& model);

}  // namespace amp

#endif  // AMP_IR_FILE_DATA_FILES_H_
