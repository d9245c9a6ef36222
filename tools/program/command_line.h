// Parsing of command lines, with this project's words for what is wrong with them.
#ifndef AMP_TOOLS_PROGRAM_COMMAND_LINE_H_
#define AMP_TOOLS_PROGRAM_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace CLI {
class App;
}

namespace amp {

// Gives the variables that the flags of `app` were declared with their values. The result is the text of --help or
// --version, or the manual page for --man-page, with which the build makes it: to be printed, and nothing else done;
// else empty. Errors: kInvalidArgument, also where a value is empty. `flags_with_equals`: those whose value is optional
// and stands behind "=", as they stand without one.
absl::StatusOr<std::string> ParseCommandLine(CLI::App& app, const std::vector<std::string>& arguments,
                                             const std::vector<std::string>& flags_with_equals = {});

}  // namespace amp

#endif  // AMP_TOOLS_PROGRAM_COMMAND_LINE_H_
