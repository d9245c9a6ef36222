// The command-line tool amp-rewrite as a function, so that tests run it in their own process.
#ifndef AMP_TOOLS_AMP_REWRITE_H_
#define AMP_TOOLS_AMP_REWRITE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace amp {

struct ToolOutput {
  int exit_code = 0;
  std::string out, err;  // what belongs on stdout and stderr
  std::string written;   // the model that was; "" for none
};

// Puts text on stdout at once: what was asked for beside the model (a report, a table), before any file changes. An
// error ends the run, and no file does.
using Printer = std::function<absl::Status(absl::string_view)>;

// `arguments` without the program's name; without a printer all text is in the result. Never throws, never exits.
ToolOutput RunAmpRewrite(const std::vector<std::string>& arguments, const Printer& print = nullptr);

}  // namespace amp

#endif  // AMP_TOOLS_AMP_REWRITE_H_
