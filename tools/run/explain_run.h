// Prints for amp-run --explain which kernel runs each node.
#ifndef AMP_TOOLS_RUN_EXPLAIN_RUN_H_
#define AMP_TOOLS_RUN_EXPLAIN_RUN_H_

#include <string>

#include "runtime/session.h"

namespace amp {

struct Instruction;

// Returns a line for each node that runs, in order; constant nodes do not run. Lines follow on how many nodes with
// 16-bit results were widened (runtime/plan/widened.h) and, with a device, on what was copied.
std::string ExplainRun(const Session& session);
// The kernel of the instruction's last run: "onednn brgconv:avx512_core", "reference", "not run".
std::string KernelText(const Instruction& instruction);

}  // namespace amp

#endif  // AMP_TOOLS_RUN_EXPLAIN_RUN_H_
