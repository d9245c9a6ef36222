// The common part of the main() functions: standard streams that may be closed or full, signals, the stack.
#ifndef AMP_TOOLS_PROGRAM_RUN_PROGRAM_H_
#define AMP_TOOLS_PROGRAM_RUN_PROGRAM_H_

#include <functional>
#include <string>

#include "tools/program/tool_output.h"

namespace amp {

// Prints what `work` gives, and returns the exit code. `name`: of the program, for messages.
int RunProgram(const std::string& name, const std::function<ToolOutput(const ToolStreams&)>& work);

}  // namespace amp

#endif  // AMP_TOOLS_PROGRAM_RUN_PROGRAM_H_
