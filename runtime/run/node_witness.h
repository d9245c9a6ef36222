// Sees every node of a run with its inputs and outputs, and may run the node again on other inputs.
#ifndef AMP_RUNTIME_RUN_NODE_WITNESS_H_
#define AMP_RUNTIME_RUN_NODE_WITNESS_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/graph/graph.h"
#include "runtime/kernel/tensor.h"

namespace amp {

class NodeWitness {
 public:
  using Datums = absl::Span<const Datum* const>;  // by port; null where absent
  // Runs the node at hand on other inputs, as many as it has. The run itself does not change. Errors: those of the
  // node's kernels.
  using Rerun = absl::FunctionRef<absl::StatusOr<std::vector<Datum>>(Datums)>;

  virtual ~NodeWitness() = default;
  // A graph begins, or a body begins one more round. Its inputs are in the order of the graph.
  virtual void Began(GraphId graph, absl::Span<const Datum> inputs) = 0;
  // A node has run. A node with bodies comes after the nodes of its bodies, and must not be run again. An error ends
  // the run with that error.
  virtual absl::Status Ran(NodeId node, Datums inputs, Datums outputs, Rerun rerun) = 0;
  // Nobody reads the value from here on.
  virtual void Freed(ValueId value) = 0;
  // The round of the graph is over, and gave these outputs.
  virtual void Ended(GraphId graph, absl::Span<const Datum> outputs) = 0;
};

}  // namespace amp

#endif  // AMP_RUNTIME_RUN_NODE_WITNESS_H_
