// What amp-run --bench measures.
#ifndef AMP_TOOLS_BENCH_RUN_H_
#define AMP_TOOLS_BENCH_RUN_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/session.h"
#include "tools/run_arguments.h"

namespace amp {

// The lines, or JSON, to be printed. Items are what the first input's first dimension counts. Errors: those of a run.
absl::StatusOr<std::string> BenchRun(const RunArguments& arguments, const Session& session, const NamedDatums& inputs);

}  // namespace amp

#endif  // AMP_TOOLS_BENCH_RUN_H_
