// The command-line tool amp-rewrite as a function, so that tests run it in their own process.
#ifndef AMP_TOOLS_AMP_REWRITE_H_
#define AMP_TOOLS_AMP_REWRITE_H_

#include <string>
#include <vector>

namespace amp {

struct ToolOutput {
  int exit_code = 0;
  std::string out, err;  // what belongs on stdout and stderr
};

// `arguments` without the program's name. Never throws, never exits.
ToolOutput RunAmpRewrite(const std::vector<std::string>& arguments);

}  // namespace amp

#endif  // AMP_TOOLS_AMP_REWRITE_H_
