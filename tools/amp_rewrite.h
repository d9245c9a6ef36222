// The command-line tool amp-rewrite as a function, so that tests run it in their own process.
#ifndef AMP_TOOLS_AMP_REWRITE_H_
#define AMP_TOOLS_AMP_REWRITE_H_

#include <string>
#include <vector>

#include "tools/tool_output.h"

namespace amp {

// `arguments` without the program's name; without a printer all text is in the result. Never throws, never exits.
ToolOutput RunAmpRewrite(const std::vector<std::string>& arguments, ToolStreams streams = {});

}  // namespace amp

#endif  // AMP_TOOLS_AMP_REWRITE_H_
