// Compares the outputs of two models for amp-run --compare.
#ifndef AMP_TOOLS_RUN_COMPARE_RUNS_H_
#define AMP_TOOLS_RUN_COMPARE_RUNS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/session.h"
#include "runtime/values/compare_values.h"
#include "runtime/values/ulp_histogram.h"
#include "tools/run/bench_run.h"

namespace amp {

struct OutputComparison {
  std::string name;
  ValueDifference difference;
  UlpHistogram ulps;
};

// A tensor of floats that both runs give by the same name.
struct ValueComparison {
  std::string name, node, op;  // of the first model
  DType others_type = DType::kUndefined;
  ValueDifference difference;
};

struct RunComparison {
  std::vector<OutputComparison> outputs;
  std::vector<ValueComparison> values;  // in the order of the first run; empty where they were not asked for
  double tolerance = 0;                 // by which it was judged
  std::string first_not_finite, others_first_not_finite;  // values of the two models; empty: all are finite
  // kFailedPrecondition: the two differ too much; kInvalidArgument: there was no number to compare.
  absl::Status verdict;
  std::optional<CostsOfTwo> costs = std::nullopt;  // where they were measured

  // A line for each output, one more for its ulps where asked for, where they differ or are not finite one for
  // the first tensor of each model that is not, and what runs take.
  std::string Text(bool with_ulps) const;
  // {"model", "other", "tolerance", "agree", "outputs": [{"name", "relative_error", ..., "ulps": {"unit", "0", ...}}],
  // "iterations", "costs": {"model": {"median_ms", ...}, "other": ...}}
  std::string Json(const std::string& model, const std::string& other) const;
  // A page (tools/report/run_page.h).
  std::string Page(const std::string& model, const std::string& other) const;
};

struct CompareOptions {
  // Nothing: the usual one, as in --verify. It is bfloat16's where a value of either model is bfloat16, else float16's.
  std::optional<double> tolerance = std::nullopt;
  // Fills RunComparison::values. Those of the first run are kept, as far as half of the memory that is left holds them.
  bool with_values = false;
  const NodeGate* may_go_on = nullptr;  // may be null
};
// Outputs are matched by name. Floats of the inputs are given to `other` in the width that it declares. Errors: those
// of the runs, of `other` with its `path`; kInvalidArgument where it lacks an output.
absl::StatusOr<RunComparison> CompareRuns(const Session& session, const Session& other, const std::string& path,
                                          const NamedDatums& inputs, const CompareOptions& options);

}  // namespace amp

#endif  // AMP_TOOLS_RUN_COMPARE_RUNS_H_
