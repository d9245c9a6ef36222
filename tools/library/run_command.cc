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

#include "absl/strings/str_replace.h"
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

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return SystemError("pipe");
  FileSystem& fs = FileSystem::Real();
  return Pipe{UniqueFile(fs, ends[0]), UniqueFile(fs, ends[1])};
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

// Ends a process group however this scope is left.
class Group {
 public:
  explicit Group(pid_t leader) : leader_(leader) {}
  ~Group() {
    if (leader_ > 0) {
      ::kill(-leader_, SIGKILL);
      Wait();
    }
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  // Returns the exit code.
  int Wait() {
    int status = 0;
    while (::waitpid(leader_, &status, 0) < 0 && errno == EINTR) {
    }
    ::kill(-leader_, SIGKILL);  // what it has left behind
    leader_ = 0;
    return WIFSIGNALED(status) ? kSignalled + WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  pid_t leader_;
};

// Reads what is there; false at the end.
bool ReadSome(int file, std::string& text) {
  std::array<char, 4096> bytes;
  const ssize_t count = ::read(file, bytes.data(), bytes.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  text.append(bytes.data(), static_cast<size_t>(count));
  if (text.size() > 2 * kMostKept) text.erase(0, text.size() - kMostKept);
  return count > 0;
}

}  // namespace

absl::StatusOr<CommandOutput> RunCommand(const std::string& command, std::chrono::seconds timeout,
                                         const std::function<absl::Status()>& may_go_on) {
  AMP_ASSIGN_OR_RETURN(Pipe out, MakePipe());
  AMP_ASSIGN_OR_RETURN(Pipe err, MakePipe());
  const UniqueFile null(FileSystem::Real(), ::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null.ok()) return SystemError("/dev/null");
  const Clock::time_point end = Clock::now() + timeout;
  const pid_t child = ::fork();
  if (child < 0) return SystemError("fork");
  if (child == 0) BecomeCommand(command.c_str(), out.write.get(), err.write.get(), null.get());
  ::setpgid(child, child);  // whoever of the two comes first
  Group group(child);
  out.write = UniqueFile();
  err.write = UniqueFile();
  CommandOutput output;
  bool is_out_open = true, is_err_open = true;
  while (is_out_open || is_err_open) {
    if (may_go_on) AMP_RETURN_IF_ERROR(may_go_on());
    if (Clock::now() > end) return absl::DeadlineExceededError("it took too long");
    pollfd files[] = {{is_out_open ? out.read.get() : -1, POLLIN, 0}, {is_err_open ? err.read.get() : -1, POLLIN, 0}};
    if (::poll(files, 2, kBetweenQuestionsMs) < 0 && errno != EINTR) return SystemError("poll");
    if (files[0].revents != 0) is_out_open = ReadSome(out.read.get(), output.out);
    if (files[1].revents != 0) is_err_open = ReadSome(err.read.get(), output.err);
  }
  output.exit_code = group.Wait();
  return output;
}

std::string ShellQuoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

}  // namespace amp
