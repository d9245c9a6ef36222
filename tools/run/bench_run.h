// Measures runs for amp-run --bench.
#ifndef AMP_TOOLS_RUN_BENCH_RUN_H_
#define AMP_TOOLS_RUN_BENCH_RUN_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/session.h"
#include "tools/program/tool_output.h"
#include "tools/run/run_arguments.h"

namespace amp {

// Prints a line, or JSON. Items are what the first input's first dimension counts. `load_ms`: what making the session
// took. Errors: those of a run.
absl::Status BenchRun(const RunArguments& arguments, const Session& session, double load_ms, const NamedDatums& inputs,
                      const ToolStreams& streams);

// Times and memory of a model's runs.
struct RunCosts {
  double median_ms = 0, min_ms = 0;
  int64_t activation_bytes = 0;  // of a run's values at most, as planned
  int64_t weight_bytes = 0;      // of the constants that the model states
};
struct CostsOfTwo {
  int64_t iterations = 0;
  RunCosts model, other;
  // A line for each model, and one that sets them against each other.
  std::string Text() const;
};
struct BenchCase {
  const Session& session;
  const NamedDatums& inputs;
};
// Runs of the two take turns, so that a slow minute touches both alike. Errors: those of a run.
absl::StatusOr<CostsOfTwo> BenchInTurns(const RunArguments& arguments, const BenchCase& model, const BenchCase& other,
                                        const ToolStreams& streams);

// Serves a caller that measures several programs in turns. Prints "ready" after the runs to warm up. Then reads a
// number of runs from each line, makes them, and prints "1.25 1.21": the mean milliseconds of a run by the clock, and
// of this process's processor time. Errors: those of a run; kInvalidArgument for a line that is no number.
absl::Status AnswerBenchRequests(const RunArguments& arguments, const Session& session, const NamedDatums& inputs,
                                 const ToolStreams& streams);

}  // namespace amp

#endif  // AMP_TOOLS_RUN_BENCH_RUN_H_
