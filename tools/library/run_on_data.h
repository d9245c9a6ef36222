// What a rewrite learns from running models on data: --calibration, --ranges and --verify.
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

// What the model shows on the samples of options.calibration, or what options.ranges says that it has shown; null if
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

// REQUIRES: options.verify. The line that Verify (tools/library/verify_rewrite.h) gives; its errors, and those of reading
// samples or making inputs up.
absl::StatusOr<std::string> VerifyModel(const RewriteOptions& options, DType low, const ModelLoader& load,
                                        const Model& rewritten, std::shared_ptr<ExternalData> external,
                                        const DenyingRewrite& deny);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_RUN_ON_DATA_H_
