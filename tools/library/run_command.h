// Runs a command of a shell and reads what it prints.
#ifndef AMP_TOOLS_LIBRARY_RUN_COMMAND_H_
#define AMP_TOOLS_LIBRARY_RUN_COMMAND_H_

#include <chrono>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace amp {

struct CommandOutput {
  int exit_code = 0;     // 128 and more: ended by that signal
  std::string out, err;  // the last 64 KiB of each
};

// Runs `command` by sh -c, without standard input. `may_go_on` may be null; it is asked several times a second. The
// processes that the command has started end with it, as far as they stay in its process group. Errors:
// kDeadlineExceeded, it took longer; those of `may_go_on`; kUnavailable, it cannot be started.
absl::StatusOr<CommandOutput> RunCommand(const std::string& command, std::chrono::seconds timeout,
                                         const std::function<absl::Status()>& may_go_on);

// The text as one word of a shell.
std::string ShellQuoted(const std::string& text);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_RUN_COMMAND_H_
