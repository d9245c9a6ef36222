#include "tools/library/run_on_data.h"

#include <cmath>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "runtime/kernel/no_kernel_error.h"
#include "runtime/observe_values.h"
#include "runtime/session.h"
#include "runtime/values/compare_values.h"
#include "tools/library/check_options.h"
#include "tools/library/ranges_file.h"
#include "tools/library/sample_inputs.h"

namespace amp {
namespace {

absl::StatusOr<std::unique_ptr<Session>> MakeSession(const RewriteOptions& options, const ModelLoader& load) {
  AMP_ASSIGN_OR_RETURN(LoadedFile file, load());
  SessionOptions how;
  how.limits = options.limits;
  return Session::Create(std::move(file), OneByOne(how));
}

}  // namespace

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
  const NodeGate may_go_on = [&](const Node&, absl::Span<const Datum* const>) { return options.may_go_on(); };
  for (size_t i = 0; i < options.calibration.size(); ++i) {
    const std::string& path = options.calibration[i];
    if (options.on_progress) {
      AMP_RETURN_IF_ERROR(options.on_progress({"calibrate", static_cast<int64_t>(i), std::ssize(options.calibration)}));
    }
    AMP_ASSIGN_OR_RETURN(const NamedDatums sample, ReadNumbers(path, *session));
    const absl::StatusOr<ObservedRun> run = ObserveValues(
        *session, sample, observed,
        {.may_go_on = options.may_go_on ? &may_go_on : nullptr, .counts_exponents = DrawsValues(options)});
    if (options.may_go_on) AMP_RETURN_IF_ERROR(options.may_go_on());  // its error is not the sample's
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

}  // namespace amp
