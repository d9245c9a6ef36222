// Finds nodes whose 16-bit results a reference kernel computes in float64. amp-run --explain counts them, and --strict
// refuses them.
//
//   y = Sin (x)          float16: widened, as there is no other kernel for it
//   y = Relu (x)         float16: not widened, as the loops have a kernel
//   z = Reshape (x, s)   float16: not widened, as it only copies elements
#ifndef AMP_RUNTIME_PLAN_WIDENED_H_
#define AMP_RUNTIME_PLAN_WIDENED_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ir/graph/graph.h"
#include "runtime/plan/program.h"

namespace amp {

// Whether a result is float16 or bfloat16.
bool HasLowResult(const Model& model, const Instruction& instruction);
// Whether the node itself computes: it neither only copies elements nor leaves the computing to a body.
bool Computes(const Model& model, NodeId node);
// Whether the row computes a 16-bit result in float64.
bool IsWidened(const Model& model, const Instruction& instruction, const KernelRow& row);
// Returns why the rows ahead did not take the inputs ("loops: no vectors"); if that is empty, says that there is no
// such row.
std::string WhyWidened(absl::string_view why_not_better);

// Returns the error (kDataLoss) for such a node where --strict refuses it.
absl::Status WidenedError(absl::string_view why_not_better);
// Returns that error with the node's name for the first instruction of the main graph that only such rows could run.
// Other cases, and nodes in bodies, which may never run, are found by the run.
absl::Status RefuseWidened(const Model& model, const Program& program);

}  // namespace amp

#endif  // AMP_RUNTIME_PLAN_WIDENED_H_
