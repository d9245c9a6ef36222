// What amp-run --bench measures.
#ifndef AMP_TOOLS_BENCH_RUN_H_
#define AMP_TOOLS_BENCH_RUN_H_

#include "absl/status/status.h"
#include "runtime/session.h"
#include "tools/run_arguments.h"
#include "tools/tool_output.h"

namespace amp {

// Prints a line, or JSON. Items are what the first input's first dimension counts. `load_ms`: what making the session
// took. Errors: those of a run.
absl::Status BenchRun(const RunArguments& arguments, const Session& session, double load_ms, const NamedDatums& inputs,
                      const ToolStreams& streams);

// For who measures several programs in turns: prints "ready" after the runs to warm up, then reads a number of runs from
// each line, makes them, and prints "1.25 1.21", the mean milliseconds of one by the clock and of this process's
// processor time, until there are no more lines. Errors: those of a run; kInvalidArgument for a line that is no number.
absl::Status AnswerBenchRequests(const RunArguments& arguments, const Session& session, const NamedDatums& inputs,
                                 const ToolStreams& streams);

}  // namespace amp

#endif  // AMP_TOOLS_BENCH_RUN_H_
