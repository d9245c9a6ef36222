// A model that was edited, as one that was just loaded.
#ifndef AMP_TOOLS_LIBRARY_TAKE_MODEL_H_
#define AMP_TOOLS_LIBRARY_TAKE_MODEL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "ir/file/external_data.h"
#include "ir/file/model_file.h"
#include "ir/graph/graph.h"

namespace amp {

// Weights are copied only where some are still to be converted. REQUIRES: the model is committed. Errors: reading
// external data.
absl::StatusOr<LoadedFile> TakeModel(std::unique_ptr<Model> model, std::shared_ptr<ExternalData> external);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_TAKE_MODEL_H_
