// Parsing of command lines, with this project's words for what is wrong with them.
#ifndef AMP_TOOLS_COMMAND_LINE_H_
#define AMP_TOOLS_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace CLI {
class App;
}

namespace amp {

// Gives the variables that the flags of `app` were declared with their values. The result is the text of --help or
// --version: to be printed, and nothing else done; else empty. Errors: kInvalidArgument.
absl::StatusOr<std::string> ParseCommandLine(CLI::App& app, std::vector<std::string> arguments);

}  // namespace amp

#endif  // AMP_TOOLS_COMMAND_LINE_H_
