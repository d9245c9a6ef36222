// --sensitivity: which parts of a model lose the most in 16 bits, predicted (tools/library/part_errors.h) instead of
// found by one run for each part.
#ifndef AMP_TOOLS_LIBRARY_SENSITIVITY_H_
#define AMP_TOOLS_LIBRARY_SENSITIVITY_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "passes/report/sensitivity_report.h"
#include "passes/sequence/rewrite_model.h"
#include "tools/library/verify_model.h"

namespace amp {

struct SensitivityTask {
  const RewriteOptions& options;
  DType low = DType::kFloat16;
  ModelLoader load;
  std::function<absl::StatusOr<LoadedFile>()> take_all_low;  // the model with all parts low; called once
  std::function<absl::StatusOr<DecidedModel>()> decide;
  std::shared_ptr<ExternalData> external;  // of the model
  SettlingRewrite rewrite;
  // For SearchParts: a sample on which the model has to pass --verify, instead of those of options.calibration. Null:
  // none.
  const NamedDatums* to_verify = nullptr;
};

// Runs on the samples of options.calibration: all of them both models, and two at most in lock step. Errors: those of
// reading samples and of running the models; kDataLoss, outputs of other shapes; those of options.on_progress and
// may_go_on. REQUIRES: there are samples.
absl::StatusOr<SensitivityReport> MeasureSensitivity(const SensitivityTask& task);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_SENSITIVITY_H_
