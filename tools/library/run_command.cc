#include "tools/library/run_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_replace.h"
#include "ir/base/atomic_file.h"
#include "ir/base/file_system.h"
#include "ir/base/status.h"

namespace amp {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostKept = 65536;
constexpr int kBetweenQuestionsMs = 50;
constexpr int kCannotRun = 127, kSignalled = 128;

struct Pipe {
  UniqueFile read, write;
};

absl::Status SystemError(const char* what) { return absl::UnavailableError(absl::StrCat(what, ": ", strerror(errno))); }

// The file under a number that is none of a standard stream's, where that of a child is to be put.
absl::StatusOr<UniqueFile> AboveStreams(int file) {
  FileSystem& fs = FileSystem::Real();
  const UniqueFile low(fs, file);
  if (!low.ok()) return SystemError("a file for the command");
  UniqueFile high(fs, ::fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!high.ok()) return SystemError("a file for the command");
  return high;
}

absl::StatusOr<Pipe> MakePipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return SystemError("pipe");
  absl::StatusOr<UniqueFile> read = AboveStreams(ends[0]), write = AboveStreams(ends[1]);
  if (!read.ok()) return read.status();
  if (!write.ok()) return write.status();
  return Pipe{*std::move(read), *std::move(write)};
}

// Becomes the command. Between fork and exec, only what may be called there.
[[noreturn]] void BecomeCommand(const char* command, int out, int err, int null) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // where this process is killed
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ}) ::sigaction(signal, &usual, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(null, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::execl("/bin/sh", "sh", "-c", command, static_cast<char*>(nullptr));
  ::_exit(kCannotRun);
}

// A process group, which ends however this scope is left.
class Group {
 public:
  explicit Group(pid_t leader) : leader_(leader) { SetGroupForSignals(leader); }
  ~Group() {
    ::kill(-leader_, SIGKILL);
    while (::waitpid(leader_, nullptr, 0) < 0 && errno == EINTR) {
    }
    SetGroupForSignals(0);
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  // The leader's exit code once it has ended. Errors: kUnavailable, somebody else in this process takes it.
  absl::StatusOr<std::optional<int>> ExitCode() const {
    siginfo_t info = {};
    if (::waitid(P_PID, static_cast<id_t>(leader_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
      if (errno == EINTR) return std::nullopt;
      return absl::UnavailableError("the command's exit code is lost: SIGCHLD is ignored, or others wait for children");
    }
    if (info.si_pid == 0) return std::nullopt;
    return info.si_code == CLD_EXITED ? info.si_status : kSignalled + info.si_status;
  }

 private:
  const pid_t leader_;
};

// Reads from one of the command's streams, while it is open.
class Stream {
 public:
  Stream(UniqueFile file, std::string& text) : file_(std::move(file)), text_(text) {}
  pollfd Poll() const { return {file_.ok() ? file_.get() : -1, POLLIN, 0}; }

  // Returns whether anything came.
  bool Read() {
    std::array<char, 4096> bytes;
    const ssize_t count = ::read(file_.get(), bytes.data(), bytes.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return false;
    if (count <= 0) {
      file_ = UniqueFile();
      return false;
    }
    text_.append(bytes.data(), static_cast<size_t>(count));
    if (text_.size() > 2 * kMostKept) text_.erase(0, text_.size() - kMostKept);
    return true;
  }

 private:
  UniqueFile file_;
  std::string& text_;
};

}  // namespace

absl::StatusOr<CommandOutput> RunCommand(const std::string& command, std::chrono::seconds timeout,
                                         const std::function<absl::Status()>& may_go_on) {
  AMP_ASSIGN_OR_RETURN(Pipe out, MakePipe());
  AMP_ASSIGN_OR_RETURN(Pipe err, MakePipe());
  AMP_ASSIGN_OR_RETURN(const UniqueFile null, AboveStreams(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
  const Clock::time_point end = Clock::now() + timeout;
  const pid_t child = ::fork();
  if (child < 0) return SystemError("fork");
  if (child == 0) BecomeCommand(command.c_str(), out.write.get(), err.write.get(), null.get());
  ::setpgid(child, child);  // whoever of the two comes first
  const Group group(child);
  out.write = UniqueFile();
  err.write = UniqueFile();
  CommandOutput output;
  Stream streams[] = {{std::move(out.read), output.out}, {std::move(err.read), output.err}};
  // The command may close its streams long before it ends, and what it leaves behind may hold them open.
  for (std::optional<int> exit_code;;) {
    if (may_go_on) AMP_RETURN_IF_ERROR(may_go_on());
    if (Clock::now() > end) return absl::DeadlineExceededError("it took too long");
    pollfd files[] = {streams[0].Poll(), streams[1].Poll()};
    if (::poll(files, 2, exit_code.has_value() ? 0 : kBetweenQuestionsMs) < 0 && errno != EINTR) {
      return SystemError("poll");
    }
    bool has_read = false;
    for (size_t i = 0; i < 2; ++i) has_read |= files[i].revents != 0 && streams[i].Read();
    if (exit_code.has_value() && !has_read) {
      output.exit_code = *exit_code;
      return output;
    }
    if (!exit_code.has_value()) {
      AMP_ASSIGN_OR_RETURN(exit_code, group.ExitCode());
    }
  }
}

std::string ShellQuoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

}  // namespace amp
