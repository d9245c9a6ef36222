// The command-line tool amp-run as a function, so that tests run it in their own process.
#ifndef AMP_TOOLS_RUN_AMP_RUN_H_
#define AMP_TOOLS_RUN_AMP_RUN_H_

#include <string>
#include <vector>

#include "tools/program/device_flag.h"
#include "tools/program/tool_output.h"

namespace amp {

// `arguments` without the program's name. What is not there of the streams: nothing to be read, and all is printed at
// the end. Never throws, never exits.
ToolOutput RunAmpRun(const std::vector<std::string>& arguments, ToolStreams streams = {}, const DeviceHost& host = {});

}  // namespace amp

#endif  // AMP_TOOLS_RUN_AMP_RUN_H_
