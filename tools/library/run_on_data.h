// Runs a model on data ahead of a rewrite: --calibration and --ranges.
#ifndef AMP_TOOLS_LIBRARY_RUN_ON_DATA_H_
#define AMP_TOOLS_LIBRARY_RUN_ON_DATA_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/base/observed_values.h"
#include "ir/file/model_file.h"
#include "runtime/session.h"
#include "tools/library/rewrite_options.h"

namespace amp {

// The model that is rewritten, as it was before: loaded anew, each time.
using ModelLoader = std::function<absl::StatusOr<LoadedFile>()>;

// A sample that means something: of NaN alone nothing is to be learnt. Errors: those of ReadSample; kInvalidArgument,
// an input all of whose elements are NaN.
absl::StatusOr<NamedDatums> ReadNumbers(const std::string& path, const Session& session);

// Returns the values observed on the samples of options.calibration, or those of the file options.ranges; null if
// neither is asked for. A sample that gives NaN is a warning; with options.strict, an error. Errors: those of reading
// samples, of running the model, of ReadRanges.
absl::StatusOr<std::shared_ptr<const ObservedValues>> ObserveModel(const RewriteOptions& options,
                                                                   const ModelLoader& load,
                                                                   std::vector<std::string>& warnings);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_RUN_ON_DATA_H_
