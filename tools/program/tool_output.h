// The outcome of a run of a program as data, so that tests run programs in their own process.
#ifndef AMP_TOOLS_PROGRAM_TOOL_OUTPUT_H_
#define AMP_TOOLS_PROGRAM_TOOL_OUTPUT_H_

#include <functional>
#include <iosfwd>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace amp {

struct ToolOutput {
  int exit_code = 0;
  std::string out, err;  // what belongs on stdout and stderr
  std::string written;   // the model that was; "" for none
  std::string alone;     // while it runs: what a flag writes to stdout, where nothing else goes then
};

// Puts text on stdout at once: what was asked for beside the model (a report, a table), before any file changes. An
// error ends the run, and no file does.
using Printer = std::function<absl::Status(absl::string_view)>;

// Puts text in `output` instead, for who runs a program in their own process.
inline Printer CollectIn(ToolOutput& output) {
  return [&output](absl::string_view text) {
    output.out.append(text.data(), text.size());
    return absl::OkStatus();
  };
}

// The streams that a program writes to while it runs.
struct ToolStreams {
  Printer print;
  std::istream* requests = nullptr;  // stdin
  // Says what the program is at, "run 3 of 12", to who watches a terminal. ASCII.
  std::function<void(std::string)> show_progress;
  bool is_watched = false;  // stderr is a terminal
  // Puts whole lines on stderr at once, for what takes hours.
  std::function<void(absl::string_view)> warn;
};

}  // namespace amp

#endif  // AMP_TOOLS_PROGRAM_TOOL_OUTPUT_H_
