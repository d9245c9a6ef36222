// Nodes whose 16-bit results a reference kernel computes in float64: what amp-run --explain counts, and --strict refuses.
//
//   y = Sin (x)      float16: widened, as there is no other kernel of it
//   y = Relu (x)     float16: not, by the loops; z = Reshape (x, s): not, as elements are moved alone
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
// Whether the node computes: it does not just copy elements, or have a body compute them.
bool Computes(const Model& model, NodeId node);
// Whether the row computes such a result in float64.
bool IsWidened(const Model& model, const Instruction& instruction, const KernelRow& row);
// "loops: no vectors": why the rows ahead did not take the inputs; that there is none, where that is empty.
std::string WhyWidened(absl::string_view why_not_better);

// kDataLoss: such a node where that is not wanted.
absl::Status WidenedError(absl::string_view why_not_better);
// The same with the node, for the first one of the main graph that only such rows could run; of others, and of bodies,
// which may not run, a run tells.
absl::Status RefuseWidened(const Model& model, const Program& program);

}  // namespace amp

#endif  // AMP_RUNTIME_PLAN_WIDENED_H_
