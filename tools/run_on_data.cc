#include "tools/run_on_data.h"

#include <iterator>
#include <utility>

#include "ir/base/status.h"
#include "ir/file/copy_model.h"
#include "runtime/observe_values.h"
#include "runtime/random_inputs.h"
#include "runtime/session.h"
#include "tools/ranges_file.h"
#include "tools/sample_inputs.h"
#include "tools/verify_rewrite.h"

namespace amp {
namespace {

constexpr double kFloat16Tolerance = 0.02, kBfloat16Tolerance = 0.1;

absl::StatusOr<std::unique_ptr<Session>> MakeSession(const RewriteOptions& options, const ModelLoader& load) {
  AMP_ASSIGN_OR_RETURN(LoadedFile file, load());
  SessionOptions how;
  how.limits = options.limits;
  return Session::Create(std::move(file), OneByOne(how));
}

absl::StatusOr<std::unique_ptr<Session>> MakeSession(const RewriteOptions& options, const Model& model,
                                                     std::shared_ptr<ExternalData> external) {
  return MakeSession(options, [&] { return CopyModel(model.proto(), model.weights(), std::move(external)); });
}

absl::StatusOr<std::vector<NamedDatums>> Samples(const RewriteOptions& options, const Session& session) {
  std::vector<NamedDatums> samples;
  if (options.verify->empty()) {
    AMP_ASSIGN_OR_RETURN(samples.emplace_back(), MakeRandomInputs(session, {}));
  } else {
    AMP_ASSIGN_OR_RETURN(samples.emplace_back(), ReadSample(*options.verify, session));
  }
  return samples;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const ObservedValues>> ObserveModel(const RewriteOptions& options,
                                                                   const ModelLoader& load) {
  if (options.calibration.empty() && options.ranges.empty()) return nullptr;
  if (options.calibration.empty()) {
    AMP_ASSIGN_OR_RETURN(ObservedValues read, ReadRanges(options.ranges));
    return std::make_shared<const ObservedValues>(std::move(read));
  }
  AMP_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, MakeSession(options, load));
  ObservedValues observed;
  for (size_t i = 0; i < options.calibration.size(); ++i) {
    const std::string& path = options.calibration[i];
    if (options.on_progress) {
      AMP_RETURN_IF_ERROR(options.on_progress({"calibrate", static_cast<int64_t>(i), std::ssize(options.calibration)}));
    }
    AMP_ASSIGN_OR_RETURN(const NamedDatums sample, ReadSample(path, *session));
    const absl::Status run = ObserveValues(*session, sample, observed);
    if (!run.ok()) return InFile(Escaped(path), run);
  }
  return std::make_shared<const ObservedValues>(std::move(observed));
}

absl::StatusOr<std::string> VerifyModel(const RewriteOptions& options, DType low, const ModelLoader& load,
                                        const Model& rewritten, std::shared_ptr<ExternalData> external,
                                        const DenyingRewrite& deny) {
  AMP_ASSIGN_OR_RETURN(const std::unique_ptr<Session> before, MakeSession(options, load));
  AMP_ASSIGN_OR_RETURN(const std::unique_ptr<Session> after, MakeSession(options, rewritten, std::move(external)));
  AMP_ASSIGN_OR_RETURN(const std::vector<NamedDatums> samples, Samples(options, *before));
  const auto rewrite_denying = [&](const std::vector<std::string>& nodes) -> absl::StatusOr<std::unique_ptr<Session>> {
    AMP_ASSIGN_OR_RETURN(const RewrittenModel denied, deny(nodes));
    return MakeSession(options, *denied.model, denied.external);
  };
  const double usual = low == DType::kFloat16 ? kFloat16Tolerance : kBfloat16Tolerance;
  AMP_ASSIGN_OR_RETURN(std::string line, Verify({.original = *before,
                                                 .rewritten = *after,
                                                 .samples = samples,
                                                 .tolerance = options.tolerance.value_or(usual),
                                                 .deny = rewrite_denying,
                                                 .on_progress = options.on_progress}));
  if (options.verify->empty()) line += " (inputs made up by declared type and shape: give a file for real ones)";
  return line;
}

}  // namespace amp
