#include "tools/library/run_on_data.h"

#include <cmath>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/file/copy_model.h"
#include "runtime/kernel/no_kernel_error.h"
#include "runtime/observe_values.h"
#include "runtime/session.h"
#include "runtime/values/compare_values.h"
#include "tools/library/made_up_inputs.h"
#include "tools/library/ranges_file.h"
#include "tools/library/sample_inputs.h"
#include "tools/library/verify_rewrite.h"

namespace amp {
namespace {

constexpr char kHowToGive[] = "--verify=FILE.npz";

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

// A sample that means something: of NaN alone nothing is to be learnt.
absl::StatusOr<NamedDatums> ReadNumbers(const std::string& path, const Session& session) {
  AMP_ASSIGN_OR_RETURN(NamedDatums sample, ReadSample(path, session));
  for (const auto& [name, datum] : sample) {
    const std::vector<double> elements = datum.tensor() == nullptr ? std::vector<double>() : AsDoubles(*datum.tensor());
    const bool is_nan = !elements.empty() && absl::c_all_of(elements, [](double one) { return std::isnan(one); });
    if (!is_nan) continue;
    return InFile(Escaped(path), UsageError("input '", Escaped(name), "': expected numbers, found NaN in all of its ",
                                            elements.size(), " elements"));
  }
  return sample;
}

// The inputs of --verify, and what is to be said of them.
struct VerifiedOn {
  std::vector<NamedDatums> samples;
  std::string note;
};

absl::StatusOr<VerifiedOn> Samples(const RewriteOptions& options, const Session& session) {
  if (!options.verify->empty()) {
    AMP_ASSIGN_OR_RETURN(NamedDatums sample, ReadNumbers(*options.verify, session));
    return VerifiedOn{{std::move(sample)}, ""};
  }
  const RandomInputOptions how = {.dims = options.dims};
  absl::StatusOr<MadeUpInputs> made_up = MakeFittingInputs(session, how);
  if (!made_up.ok()) return ExplainMadeUp(made_up.status(), session, how, kHowToGive);
  std::string note = " (inputs made up by declared type and shape";
  if (made_up->other_dim != MadeUpInputs::kUsualDim) {
    absl::StrAppend(&note, ", unknown dimensions ", made_up->other_dim, " as none of ", MadeUpInputs::kUsualDim,
                    " fits");
  }
  return VerifiedOn{{std::move(made_up->inputs)}, note + ": give a file for real ones)"};
}

}  // namespace

absl::StatusOr<std::shared_ptr<const ObservedValues>> ObserveModel(const RewriteOptions& options,
                                                                   const ModelLoader& load,
                                                                   std::vector<std::string>& warnings) {
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
    AMP_ASSIGN_OR_RETURN(const NamedDatums sample, ReadNumbers(path, *session));
    const absl::StatusOr<ObservedRun> run = ObserveValues(*session, sample, observed);
    if (!run.ok()) return IsNoKernelError(run.status()) ? run.status() : InFile(Escaped(path), run.status());
    if (run->with_finite == 0 && !observed.empty()) {
      return InFile(Escaped(path), UsageError("--calibration: expected data on which float32 values have finite "
                                              "elements, found none in the ",
                                              observed.size(), " float32 values of the model"));
    }
    if (run->of_nan.empty()) continue;
    const std::string what = absl::StrCat(
        "--calibration: expected data on which the model gives numbers, found NaN in ", run->of_nan.size(), " of ",
        observed.size(), " float32 values, '", Escaped(run->of_nan[0]), "' first, which ranges leave out");
    if (options.strict) return InFile(Escaped(path), UsageError(what));
    warnings.push_back(absl::StrCat(Escaped(path), ": ", what));
  }
  return std::make_shared<const ObservedValues>(std::move(observed));
}

absl::StatusOr<std::string> VerifyModel(const RewriteOptions& options, DType low, const ModelLoader& load,
                                        const Model& rewritten, std::shared_ptr<ExternalData> external,
                                        const DenyingRewrite& deny) {
  AMP_ASSIGN_OR_RETURN(const std::unique_ptr<Session> before, MakeSession(options, load));
  AMP_ASSIGN_OR_RETURN(const std::unique_ptr<Session> after, MakeSession(options, rewritten, std::move(external)));
  AMP_ASSIGN_OR_RETURN(const VerifiedOn data, Samples(options, *before));
  const auto rewrite_denying = [&](const std::vector<std::string>& nodes) -> absl::StatusOr<std::unique_ptr<Session>> {
    AMP_ASSIGN_OR_RETURN(const RewrittenModel denied, deny(nodes));
    return MakeSession(options, *denied.model, denied.external);
  };
  const double usual = low == DType::kFloat16 ? kFloat16Tolerance : kBfloat16Tolerance;
  const absl::StatusOr<std::string> line = Verify({.original = *before,
                                                   .rewritten = *after,
                                                   .samples = data.samples,
                                                   .tolerance = options.tolerance.value_or(usual),
                                                   .deny = rewrite_denying,
                                                   .on_progress = options.on_progress});
  if (line.ok()) return *line + data.note;
  return options.verify->empty() ? ExplainMadeUp(line.status(), *before, {.dims = options.dims}, kHowToGive)
                                 : line.status();
}

}  // namespace amp
