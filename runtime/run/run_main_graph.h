// A run of a session's main graph, from inputs to outputs that its caller keeps.
#ifndef AMP_RUNTIME_RUN_RUN_MAIN_GRAPH_H_
#define AMP_RUNTIME_RUN_RUN_MAIN_GRAPH_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph/graph.h"
#include "runtime/kernel/kernel.h"
#include "runtime/plan/program.h"
#include "runtime/run/arena.h"
#include "runtime/run/execution.h"
#include "runtime/run/run_options.h"

namespace amp {

// All must outlive the run.
struct MainCall {
  const Model& model;
  const Program& program;
  RunResources& resources;
  const Arena& arena;  // of the processor's memory, which outputs must not lie in when the run is over
  const RunOptions& options;
  std::vector<Datum> inputs;  // of the main graph, in order, defaults included
};

// What the sizes of a run's tensors depend on, as far as that is known.
std::vector<int64_t> ShapeKey(const std::vector<Datum>& inputs);

// Errors: those of Execution::Run; kResourceExhausted, no memory for outputs.
absl::StatusOr<std::vector<Datum>> RunMainGraph(Execution& execution, MainCall& call);

}  // namespace amp

#endif  // AMP_RUNTIME_RUN_RUN_MAIN_GRAPH_H_
