// Writing a model, with or without a data file beside it, so that a failure at any moment leaves what was there.
//
//   PrepareSave  data   -> .m.onnx.amp-*.tmp, fsync
//                model  -> .m.onnx.amp-*.tmp, fsync -> parsed and validated again
//   Commit       data   -> m.onnx.<16 hex digits of its content>.data
//                others -> a report that comes with the model, say (ir/base/replace_files.h: all or none)
//                model  -> m.onnx -> an older data file is removed (ir/file/data_files.h: whose it is)
//
// The data file's name comes from its content, so that the old model keeps pointing at the old data until the rename of
// the model switches both at once. Payloads are streamed from where they are; none is held in memory for saving.
#ifndef AMP_IR_FILE_SAVE_H_
#define AMP_IR_FILE_SAVE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/base/atomic_file.h"
#include "ir/base/choices.h"
#include "ir/base/file_system.h"
#include "ir/base/limits.h"
#include "ir/file/model_file.h"
#include "ir/file/weights.h"

namespace onnx {
class ModelProto;
class TensorProto;
}  // namespace onnx

namespace amp {

struct SaveOptions {
  ExternalDataPolicy external_data = ExternalDataPolicy::kAuto;
  bool in_place = false;              // the output may be the input
  bool force = false;                 // the output may replace a file that is no model
  const LoadedFile* input = nullptr;  // what the model was made from: must not be overwritten
  Limits limits;
  FileSystem* fs = &FileSystem::Real();
  int64_t external_from_bytes = int64_t{3} << 29;  // kAuto's 1.5 GiB
  // Called while weights are written, with bytes; an error ends the saving.
  std::function<absl::Status(int64_t done, int64_t total)> on_progress;
};

struct SaveResult {
  int64_t model_bytes = 0;
  int64_t data_bytes = 0;
  std::string data_file;           // name beside the model; "" if there is none
  std::vector<std::string> notes;  // files that were left although no model of this name needs them any more
};

// A model, and its data file if it has one, whole on the disk under temporary names. Destroyed before Commit, they are
// gone, and nothing has changed.
class PreparedSave {
 public:
  virtual ~PreparedSave() = default;
  // Returns notes for the user, as far as they are known before Commit.
  virtual std::vector<std::string> Notes() = 0;
  // XXH3 (64 bits) of the model's bytes as they are written, in hexadecimal.
  virtual std::string ModelHash() const = 0;
  // Puts all in place, with `companions`, or nothing. To be called once. Errors: kUnavailable.
  virtual absl::StatusOr<SaveResult> Commit(std::vector<FinishedFile> companions = {}) = 0;
};

// A model that holds its payloads, as bytes: those that PrepareSave writes without a data file. Errors:
// kResourceExhausted, over 2 GiB.
absl::StatusOr<std::string> SerializeModel(const onnx::ModelProto& model);

// XXH3 (64 bits) of the file that `input` was read from, in hexadecimal. REQUIRES: input.original. Errors:
// kUnavailable.
absl::StatusOr<std::string> HashOriginal(const LoadedFile& input);

// Same model and payloads, same bytes. `weights` are those of `model`, which is changed meanwhile and is as it was on
// return, also after an error. Errors: kPermissionDenied (the output is the input or its data, read-only, no regular
// file, or a file of another kind), kResourceExhausted (over 2 GiB and not external), kUnavailable (reading or
// writing), kInternal (what was written does not validate).
absl::StatusOr<std::unique_ptr<PreparedSave>> PrepareSave(onnx::ModelProto& model, const Weights& weights,
                                                          const std::string& path, const SaveOptions& options);

// The input's bytes, verbatim. Only where they would not do is the model written anew, with a data file of its own: the
// external data would not be found from the output's directory, or is another model's (ir/file/data_files.h), or
// options.external_data wants the weights elsewhere. REQUIRES: input.original; options.input is ignored. `input` must
// outlive the result.
absl::StatusOr<std::unique_ptr<PreparedSave>> PrepareUnchanged(const LoadedFile& input, const std::string& path,
                                                               const SaveOptions& options);

// Both steps in one.
absl::StatusOr<SaveResult> SaveModel(onnx::ModelProto& model, const Weights& weights, const std::string& path,
                                     const SaveOptions& options);
absl::StatusOr<SaveResult> SaveUnchanged(const LoadedFile& input, const std::string& path, const SaveOptions& options);

}  // namespace amp

#endif  // AMP_IR_FILE_SAVE_H_
