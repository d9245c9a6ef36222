// A model that is being rewritten as one that was just loaded, so that it can be run before it is written.
#ifndef AMP_IR_FILE_COPY_MODEL_H_
#define AMP_IR_FILE_COPY_MODEL_H_

#include <memory>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "ir/file/model_file.h"

namespace amp {

// Weights that would be converted while they are written are converted into the copy's messages; other external data
// stay where they are. REQUIRES: `model` is committed, and `weights` are its own. Errors: reading external data.
absl::StatusOr<LoadedFile> CopyModel(const onnx::ModelProto& model, const Weights& weights,
                                     std::shared_ptr<ExternalData> external);

// Returns a copy in which the initializers of these names are inputs of the main graph, without their elements.
// Errors: kInvalidArgument where elements of another tensor are external.
absl::StatusOr<LoadedFile> CopyWithInputs(const onnx::ModelProto& model,
                                          const absl::flat_hash_set<std::string>& initializers);

}  // namespace amp

#endif  // AMP_IR_FILE_COPY_MODEL_H_
