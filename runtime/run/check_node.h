// Checks what a node is given in a run, before a kernel looks at it.
#ifndef AMP_RUNTIME_RUN_CHECK_NODE_H_
#define AMP_RUNTIME_RUN_CHECK_NODE_H_

#include "absl/status/status.h"
#include "ir/graph/graph.h"
#include "runtime/kernel/kernel.h"
#include "runtime/plan/program.h"

namespace amp {

// Returns kInvalidArgument where an input is missing that the schema requires, and a refusal where a fused pattern gets
// other types than those by which it was recognised: its nodes run one by one then.
absl::Status CheckNode(const Model& model, const Instruction& instruction, const KernelContext& context);

}  // namespace amp

#endif  // AMP_RUNTIME_RUN_CHECK_NODE_H_
