// The command-line tool amp-rewrite as a function, so that tests run it in their own process.
#ifndef AMP_TOOLS_REWRITE_AMP_REWRITE_H_
#define AMP_TOOLS_REWRITE_AMP_REWRITE_H_

#include <functional>
#include <string>
#include <vector>

#include "tools/program/tool_output.h"

namespace amp {

// Whether this machine is faster with float16 than with float32. It is asked if a model becomes float16 for no named
// target, so that the last line can say that it is not faster; null: unknown.
using HasFastFloat16 = std::function<bool()>;

// `arguments` without the program's name; without a printer all text is in the result. Never throws, never exits.
ToolOutput RunAmpRewrite(const std::vector<std::string>& arguments, ToolStreams streams = {},
                         const HasFastFloat16& has_fast_float16 = nullptr);

}  // namespace amp

#endif  // AMP_TOOLS_REWRITE_AMP_REWRITE_H_
