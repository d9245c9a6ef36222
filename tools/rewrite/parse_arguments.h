// From a command line to what it asks for.
#ifndef AMP_TOOLS_REWRITE_PARSE_ARGUMENTS_H_
#define AMP_TOOLS_REWRITE_PARSE_ARGUMENTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/rewrite/declare_flags.h"

namespace amp {

struct ParsedArguments {
  Arguments arguments;
  std::string text;  // of --help, --version or --completion: to be printed, and nothing else done; else empty
};

// `arguments` without the program's name. Errors: kInvalidArgument, in this program's words, not the parser's.
absl::StatusOr<ParsedArguments> ParseArguments(const std::vector<std::string>& arguments);

}  // namespace amp

#endif  // AMP_TOOLS_REWRITE_PARSE_ARGUMENTS_H_
