#include "tools/library/sample_runs.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ir/base/status.h"
#include "ir/graph/node_paths.h"
#include "runtime/plan/program.h"
#include "tools/library/option_names.h"
#include "tools/library/output_error.h"
#include "tools/library/sample_inputs.h"

namespace amp {

double SampleErrors::Largest() const {
  return of_samples.empty() ? 0 : *std::max_element(of_samples.begin(), of_samples.end());
}

absl::StatusOr<std::unique_ptr<SampleRuns>> SampleRuns::Make(const RewriteOptions& options, const ModelLoader& load) {
  std::unique_ptr<SampleRuns> runs(new SampleRuns(options));
  AMP_ASSIGN_OR_RETURN(const std::unique_ptr<Session> original, runs->Begin(load));
  for (const std::string& path : options.calibration) {
    AMP_ASSIGN_OR_RETURN(NamedDatums sample, ReadNumbers(path, *original));
    const absl::Status added = runs->Add(*original, std::move(sample));
    if (options.may_go_on) AMP_RETURN_IF_ERROR(options.may_go_on());  // its error is not the sample's
    if (!added.ok()) return InFile(Escaped(path), added);
  }
  return runs;
}

absl::StatusOr<std::unique_ptr<SampleRuns>> SampleRuns::MakeToVerify(const RewriteOptions& options,
                                                                     const ModelLoader& load, NamedDatums sample) {
  std::unique_ptr<SampleRuns> runs(new SampleRuns(options));
  runs->is_to_verify_ = true;
  AMP_ASSIGN_OR_RETURN(const std::unique_ptr<Session> original, runs->Begin(load));
  AMP_RETURN_IF_ERROR(runs->Add(*original, std::move(sample)));
  return runs;
}

absl::StatusOr<std::unique_ptr<Session>> SampleRuns::Begin(const ModelLoader& load) {
  AMP_ASSIGN_OR_RETURN(LoadedFile file, load());
  AMP_ASSIGN_OR_RETURN(std::unique_ptr<Session> original, MakeSession(std::move(file)));
  for (std::string& path : FindNodePaths(original->model()).nodes) nodes_.insert(std::move(path));
  return original;
}

absl::Status SampleRuns::Add(const Session& original, NamedDatums sample) {
  double value_bytes = 0;
  AMP_ASSIGN_OR_RETURN(std::vector<Datum> outputs, Run(original, sample, value_bytes));
  if (samples_.empty()) value_bytes_ = value_bytes;
  samples_.push_back(std::move(sample));
  expected_.push_back(std::move(outputs));
  return absl::OkStatus();
}

std::optional<double> SampleRuns::ErrorOf(RewriteOptions::Metric metric, const Datum& expected,
                                          const Datum& found) const {
  return is_to_verify_ ? VerifiedError(VerifiedDifference(expected, found)) : OutputError(metric, expected, found);
}

absl::StatusOr<std::unique_ptr<Session>> SampleRuns::MakeSession(LoadedFile file) const {
  SessionOptions how;
  how.limits = options_.limits;
  return Session::Create(std::move(file), OneByOne(how));
}

absl::StatusOr<std::vector<Datum>> SampleRuns::Run(const Session& session, const NamedDatums& sample,
                                                   double& value_bytes) const {
  const ValueObserver count = [&](ValueId id, const Datum& datum) {
    const bool is_given = session.model().value(id).producer != kNone && session.program().constants[id].IsEmpty();
    if (is_given && datum.tensor() != nullptr) value_bytes += static_cast<double>(datum.tensor()->size_bytes());
  };
  return session.Run(sample, {.observer = &count, .may_go_on = options_.may_go_on ? &gate_ : nullptr});
}

absl::StatusOr<SampleErrors> SampleRuns::ErrorsOf(const Session& session, size_t begin, size_t end,
                                                  RewriteOptions::Metric metric) const {
  SampleErrors errors;
  bool has_compared = begin == end;
  for (size_t i = begin; i < end; ++i) {
    double value_bytes = 0;
    AMP_ASSIGN_OR_RETURN(const std::vector<Datum> outputs, Run(session, InputsFor(session, samples_[i]), value_bytes));
    if (i == begin) errors.value_bytes = value_bytes;
    double worst = 0;
    for (size_t output = 0; output < outputs.size(); ++output) {
      const std::optional<double> error = ErrorOf(metric, expected_[i][output], outputs[output]);
      if (error.has_value() && !(*error <= worst)) worst = *error;
      has_compared = has_compared || error.has_value();
    }
    errors.of_samples.push_back(worst);
  }
  if (has_compared) return errors;
  using Metric = RewriteOptions::Metric;
  if (metric == Metric::kKl || metric == Metric::kTop1) {
    return UsageError("--metric ", NameOf(metric),
                      ": expected an output with rows of two elements or more, found none");
  }
  return UsageError("--calibration: expected samples on which an output has finite elements, found none");
}

absl::StatusOr<SampleErrors> SampleRuns::ErrorsOf(LoadedFile file, size_t begin, size_t end,
                                                  RewriteOptions::Metric metric) const {
  AMP_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, MakeSession(std::move(file)));
  return ErrorsOf(*session, begin, end, metric);
}

absl::StatusOr<double> SampleRuns::ValueBytesOf(LoadedFile file) const {
  AMP_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, MakeSession(std::move(file)));
  double value_bytes = 0;
  AMP_RETURN_IF_ERROR(Run(*session, InputsFor(*session, samples_[0]), value_bytes).status());
  return value_bytes;
}

}  // namespace amp
