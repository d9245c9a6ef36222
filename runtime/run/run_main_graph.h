// Runs a session's main graph and returns outputs that the caller may keep.
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

// The arguments of one run. All references must outlive the run.
struct MainCall {
  const Model& model;
  const Program& program;
  RunResources& resources;
  const Arena& arena;  // in the processor's memory; outputs are moved out of it at the end of the run
  const RunOptions& options;
  std::vector<Datum> inputs;  // one for each input of the main graph, in order, defaults filled in
};

// Returns the ranks and dimensions of the input tensors, on which the sizes of a run's tensors depend (-1: not a
// tensor).
std::vector<int64_t> ShapeKey(const std::vector<Datum>& inputs);

// Errors: those of Execution::Run; kResourceExhausted if there is no memory for the outputs.
absl::StatusOr<std::vector<Datum>> RunMainGraph(Execution& execution, MainCall& call);

}  // namespace amp

#endif  // AMP_RUNTIME_RUN_RUN_MAIN_GRAPH_H_
