// What amp-run --explain prints: which kernel runs each node.
#ifndef AMP_TOOLS_RUN_EXPLAIN_RUN_H_
#define AMP_TOOLS_RUN_EXPLAIN_RUN_H_

#include <string>

#include "runtime/session.h"

namespace amp {

struct Instruction;

// A line for each node that runs, in order; what is constant does not run. Then how many of those with 16-bit results were
// widened (runtime/plan/widened.h), and with a device what was copied.
std::string ExplainRun(const Session& session);
// The kernel of the instruction's last run: "onednn brgconv:avx512_core", "reference", "not run".
std::string KernelText(const Instruction& instruction);

}  // namespace amp

#endif  // AMP_TOOLS_RUN_EXPLAIN_RUN_H_
