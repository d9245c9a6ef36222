// What amp-run --compare finds: how far the outputs of one model are from those of another.
#ifndef AMP_TOOLS_COMPARE_RUNS_H_
#define AMP_TOOLS_COMPARE_RUNS_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/session.h"

namespace amp {

struct RunComparison {
  std::string text;     // a line for each output, and for the first tensor of each model that is not finite
  std::string verdict;  // why the two differ too much; empty where they do not
};

// Outputs are matched by name. Floats of the inputs are given to `other` in the width that it declares. Errors: those
// of the runs, of `other` with its `path`; kInvalidArgument where it lacks an output.
absl::StatusOr<RunComparison> CompareRuns(const Session& session, const Session& other, const std::string& path,
                                          const NamedDatums& inputs, double tolerance);

}  // namespace amp

#endif  // AMP_TOOLS_COMPARE_RUNS_H_
