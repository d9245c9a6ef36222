// Runs models on data for a rewrite: --calibration, --ranges and --verify.
#ifndef AMP_TOOLS_LIBRARY_RUN_ON_DATA_H_
#define AMP_TOOLS_LIBRARY_RUN_ON_DATA_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/base/observed_values.h"
#include "ir/file/model_file.h"
#include "ir/graph/graph.h"
#include "tools/library/rewrite_options.h"

namespace amp {

// The model that is rewritten, as it was before: loaded anew, each time.
using ModelLoader = std::function<absl::StatusOr<LoadedFile>()>;

// Returns the values observed on the samples of options.calibration, or those of the file options.ranges; null if
// neither is asked for. A sample that gives NaN is a warning; with options.strict, an error. Errors: those of reading
// samples, of running the model, of ReadRanges.
absl::StatusOr<std::shared_ptr<const ObservedValues>> ObserveModel(const RewriteOptions& options,
                                                                   const ModelLoader& load,
                                                                   std::vector<std::string>& warnings);

// A model after the rewrite, and where the data beside it are.
struct RewrittenModel {
  std::unique_ptr<Model> model;  // committed
  std::shared_ptr<ExternalData> external;
};
// The rewrite with these nodes denied too.
using DenyingRewrite = std::function<absl::StatusOr<RewrittenModel>(const std::vector<std::string>&)>;

// Returns the line of Verify (tools/library/verify_rewrite.h). Errors: those of Verify, of reading samples and of
// making inputs up. REQUIRES: options.verify.
absl::StatusOr<std::string> VerifyModel(const RewriteOptions& options, DType low, const ModelLoader& load,
                                        const Model& rewritten, std::shared_ptr<ExternalData> external,
                                        const DenyingRewrite& deny);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_RUN_ON_DATA_H_
