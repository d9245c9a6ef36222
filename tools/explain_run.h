// What amp-run --explain prints: which kernel runs each node.
#ifndef AMP_TOOLS_EXPLAIN_RUN_H_
#define AMP_TOOLS_EXPLAIN_RUN_H_

#include <string>

#include "runtime/session.h"

namespace amp {

// A line for each node that runs, in order; what is constant does not run.
std::string ExplainRun(const Session& session);

}  // namespace amp

#endif  // AMP_TOOLS_EXPLAIN_RUN_H_
