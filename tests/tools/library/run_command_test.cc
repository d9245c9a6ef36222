// Commands of a shell: what they print, how they end, and that nothing of them is left.
#include "tools/library/run_command.h"

#include <signal.h>

#include <fstream>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/catch2.h"
#include "tests/scratch_folder.h"

namespace amp {
namespace {

constexpr std::chrono::seconds kLong{60}, kShort{1};

CommandOutput Run(const std::string& command) {
  const absl::StatusOr<CommandOutput> output = RunCommand(command, kLong, nullptr);
  INFO(output.status());
  REQUIRE(output.ok());
  return *output;
}

TEST_CASE("a command gives what it prints, and its exit code") {
  const CommandOutput output = Run("echo out; echo err >&2; exit 3");
  CHECK(output.exit_code == 3);
  CHECK(output.out == "out\n");
  CHECK(output.err == "err\n");
  CHECK(Run("kill -KILL $$").exit_code == 128 + SIGKILL);
  CHECK(Run("no-such-command-here").exit_code == 127);
  CHECK(Run("cat").out.empty());  // there is no standard input
  CHECK(Run(absl::StrCat("echo ", ShellQuoted("it's a $HOME; `x`"))).out == "it's a $HOME; `x`\n");
}

TEST_CASE("of a command that prints much the end is kept") {
  const CommandOutput output = Run("i=0; while [ $i -lt 40000 ]; do echo line $i; i=$((i+1)); done; echo last >&2");
  CHECK(output.out.size() <= 131072);
  CHECK(output.out.substr(output.out.size() - 11) == "line 39999\n");
  CHECK(output.err == "last\n");
}

TEST_CASE("a command that takes too long is ended, with what it has started") {
  const ScratchFolder folder;
  const std::string command = absl::StrCat("sleep 77 & echo $! > ", folder.File("pid"), "; wait");
  CHECK(absl::IsDeadlineExceeded(RunCommand(command, kShort, nullptr).status()));
  int pid = 0;
  REQUIRE(absl::SimpleAtoi(folder.Read("pid").substr(0, folder.Read("pid").find('\n')), &pid));
  bool is_gone = false;
  for (int i = 0; i < 100 && !is_gone; ++i) {  // until whoever adopts orphans has seen it end
    is_gone = ::kill(pid, 0) != 0;
    if (!is_gone) {
      std::ifstream stat(absl::StrCat("/proc/", pid, "/stat"));
      std::string id, name, state;
      stat >> id >> name >> state;
      is_gone = state == "Z";
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(is_gone);
}

TEST_CASE("a command is waited for until it ends, not until its streams do") {
  CHECK(absl::IsDeadlineExceeded(RunCommand("exec >&- 2>&-; sleep 77", kShort, nullptr).status()));
  const auto begin = std::chrono::steady_clock::now();
  CHECK(Run("sleep 77 & echo 0.9").out == "0.9\n");  // the one behind holds the stream open
  CHECK(std::chrono::steady_clock::now() - begin < kLong / 2);
}

TEST_CASE("an exit code that somebody else takes is an error, not success") {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  const absl::Status status = RunCommand("exit 3", kLong, nullptr).status();
  ::signal(SIGCHLD, before);
  CHECK(absl::IsUnavailable(status));
}

TEST_CASE("who cancels does not wait for the command") {
  int asked = 0;
  const auto may_go_on = [&] { return ++asked > 3 ? absl::CancelledError("enough") : absl::OkStatus(); };
  const auto begin = std::chrono::steady_clock::now();
  CHECK(absl::IsCancelled(RunCommand("sleep 77", kLong, may_go_on).status()));
  CHECK(std::chrono::steady_clock::now() - begin < kLong / 2);
}

}  // namespace
}  // namespace amp
