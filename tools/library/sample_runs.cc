#include "tools/library/sample_runs.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "ir/base/status.h"
#include "ir/graph/node_paths.h"
#include "runtime/values/compare_values.h"
#include "tools/library/sample_inputs.h"

namespace amp {

absl::StatusOr<std::unique_ptr<SampleRuns>> SampleRuns::Make(const RewriteOptions& options, const ModelLoader& load) {
  std::unique_ptr<SampleRuns> runs(new SampleRuns(options));
  AMP_ASSIGN_OR_RETURN(LoadedFile original, load());
  AMP_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, runs->MakeSession(std::move(original)));
  for (std::string& path : FindNodePaths(session->model()).nodes) runs->nodes_.insert(std::move(path));
  for (const std::string& path : options.calibration) {
    AMP_ASSIGN_OR_RETURN(NamedDatums sample, ReadNumbers(path, *session));
    absl::StatusOr<std::vector<Datum>> outputs = session->Run(sample, runs->HowToRun());
    if (options.may_go_on) AMP_RETURN_IF_ERROR(options.may_go_on());  // its error is not the sample's
    if (!outputs.ok()) return InFile(Escaped(path), outputs.status());
    runs->samples_.push_back(std::move(sample));
    runs->expected_.push_back(*std::move(outputs));
  }
  return runs;
}

absl::StatusOr<std::unique_ptr<Session>> SampleRuns::MakeSession(LoadedFile file) const {
  SessionOptions how;
  how.limits = options_.limits;
  return Session::Create(std::move(file), OneByOne(how));
}

absl::StatusOr<double> SampleRuns::ErrorOf(const Session& session, size_t begin, size_t end) const {
  double worst = 0;
  for (size_t i = begin; i < end; ++i) {
    AMP_ASSIGN_OR_RETURN(const std::vector<Datum> outputs, session.Run(InputsFor(session, samples_[i]), HowToRun()));
    for (size_t output = 0; output < outputs.size(); ++output) {
      const ValueDifference difference = CompareValues(expected_[i][output], outputs[output]);
      if (!difference.misfit.empty()) {
        return ModelError("output ", output, " of the rewritten model: ", difference.misfit);
      }
      const bool is_finite = difference.new_non_finite == 0;
      worst = std::max(worst, is_finite ? difference.relative_error : std::numeric_limits<double>::infinity());
    }
  }
  return worst;
}

absl::StatusOr<double> SampleRuns::ErrorOf(LoadedFile file, size_t begin, size_t end) const {
  AMP_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, MakeSession(std::move(file)));
  return ErrorOf(*session, begin, end);
}

}  // namespace amp
