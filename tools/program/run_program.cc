#include "tools/program/run_program.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <iostream>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "ir/base/atomic_file.h"
#include "ir/base/status.h"
#include "runtime/onednn/open_library.h"
#include "tools/program/bound_spinning.h"
#include "tools/program/keep_freed_memory.h"
#include "tools/program/progress_line.h"
#include "tools/program/run_on_large_stack.h"

namespace amp {
namespace {

// No file that is opened later may get the number of a closed standard stream: text for it would go into the file.
void OccupyStandardStreams(bool* stdout_is_closed) {
  *stdout_is_closed = ::fcntl(STDOUT_FILENO, F_GETFD) < 0;
  int file = 0;
  do {
    file = ::open("/dev/null", O_RDWR);
  } while (file >= 0 && file <= STDERR_FILENO);
  if (file >= 0) ::close(file);
}

class StandardOutput {
 public:
  explicit StandardOutput(bool is_closed) : nobody_reads_(is_closed) {}

  // A reader that left, as `head` does, or never was, is no error.
  absl::Status Print(absl::string_view text) {
    if (text.empty()) return absl::OkStatus();
    lost_ |= nobody_reads_;
    if (nobody_reads_) return absl::OkStatus();
    const bool is_written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (is_written && std::fflush(stdout) == 0) return absl::OkStatus();
    const int error = errno;
    nobody_reads_ = error == EPIPE;
    lost_ = true;
    if (nobody_reads_) return absl::OkStatus();
    return InFile("standard output", IoError("cannot write: ", ErrnoText(error)));
  }
  bool lost() const { return lost_; }  // text that was to be printed

 private:
  bool nobody_reads_;
  bool lost_ = false;
};

// "" where the system had as many threads as were asked for.
std::string ThreadWarning(const std::string& name) {
  const onednn::ThreadShortage shortage = onednn::FindThreadShortage();
  if (shortage.asked_for == 0) return "";
  return absl::StrCat(name, ": warning: expected ", shortage.asked_for, " threads, found memory or leave for ",
                      shortage.had, ": it went on with those\n");
}

}  // namespace

int RunProgram(const std::string& name, const std::function<ToolOutput(const ToolStreams&)>& work) {
  bool stdout_is_closed = false;
  OccupyStandardStreams(&stdout_is_closed);
  // Some builds of Abseil look for deadlocks at every lock, which small models feel.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  BoundSpinning();
  KeepFreedMemory();
  RemoveTemporariesOnSignals();
  StandardOutput standard_output(stdout_is_closed);
  ToolOutput output;
  ProgressLine progress(STDERR_FILENO, name);
  ToolStreams streams;
  streams.print = [&](absl::string_view text) {
    progress.Clear();
    return standard_output.Print(text);
  };
  streams.is_watched = ::isatty(STDERR_FILENO) == 1;
  streams.show_progress = [&](std::string what) { progress.Show(std::move(what)); };
  streams.warn = [&](absl::string_view text) {
    progress.Clear();
    std::fwrite(text.data(), 1, text.size(), stderr);
  };
  streams.requests = &std::cin;
  const absl::Status ran = RunOnLargeStack([&] { output = work(streams); });
  progress.Clear();
  if (!ran.ok()) {
    output.exit_code = ExitCode(ran);
    output.err = absl::StrCat(name, ": error: ", ran.message(), "\n");
  }
  output.err += ThreadWarning(name);
  std::fwrite(output.err.data(), 1, output.err.size(), stderr);
  const absl::Status printed = standard_output.Print(output.out);
  if (!output.written.empty() && standard_output.lost()) {  // the model is there, whatever became of the last words
    const std::string why = printed.ok() ? "standard output: nobody reads it" : std::string(printed.message());
    std::fprintf(stderr, "%s: warning: %s; wrote %s all the same\n", name.c_str(), why.c_str(),
                 Escaped(output.written).c_str());
    return output.exit_code;
  }
  if (printed.ok()) return output.exit_code;
  std::fprintf(stderr, "%s: error: %s\n", name.c_str(), std::string(printed.message()).c_str());
  return ExitCode(printed);
}

}  // namespace amp
