// Signals that come while a file is written.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "ir/base/atomic_file.h"
#include "ir/file/model_file.h"
#include "ir/file/save.h"
#include "tests/catch2.h"
#include "tests/ir/file/fixtures.h"

namespace amp {
namespace {

// How a process ends that is sent `signal` while it writes out.onnx; `begin` comes before all.
int StatusAfter(int signal, const ScratchFolder& dir, void (*begin)()) {
  const pid_t child = ::fork();
  if (child == 0) {
    const struct rlimit no_core = {0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    begin();
    RemoveTemporariesOnSignals();
    (void)WriteFileAtomically(dir.File("out.onnx"), {}, [&](AtomicFile&) {
      ::raise(signal);
      return absl::OkStatus();
    });
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

TEST_CASE("signals that ask a process to end remove what is not finished") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU}) {
    INFO("signal " << signal);
    ScratchFolder dir;
    const int status = StatusAfter(signal, dir, [] {});
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == signal);
    CHECK(Snapshot(dir.path()).empty());
  }
}

TEST_CASE("a signal that is ignored, as SIGHUP is under nohup, stays ignored") {
  ScratchFolder dir;
  const int status = StatusAfter(SIGHUP, dir, [] { ::signal(SIGHUP, SIG_IGN); });
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  CHECK(Snapshot(dir.path()).count("out.onnx") == 1);
}

// Sends a signal before each exchange of names.
class SignalledFiles : public FileSystem {
 public:
  int Exchange(int dir, const std::string& a, const std::string& b) override {
    for (int i = 0; i < 3; ++i) ::raise(SIGTERM);  // as impatient users do
    return FileSystem::Exchange(dir, a, b);
  }
};

TEST_CASE("a signal while several files are put in place waits until all are") {
  ScratchFolder dir;
  WriteText(dir.File("m.onnx"), SmallModel().SerializeAsString());
  WriteText(dir.File("report.json"), "{}");
  const pid_t child = ::fork();
  if (child == 0) {
    RemoveTemporariesOnSignals();
    SignalledFiles files;
    const LoadedFile file = *LoadModel(dir.File("m.onnx"));
    SaveOptions options;
    options.input = &file;
    options.fs = &files;
    auto prepared = PrepareSave(*file.model, file.weights(), dir.File("out.onnx"), options);
    std::vector<FinishedFile> companions;
    companions.push_back(*PrepareFile(
        dir.File("report.json"), {FileKind::kJson}, [](AtomicFile& out) { return out.Append("new"); }, files));
    (void)(*prepared)->Commit(std::move(companions));
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM));
  const auto after = Snapshot(dir.path());
  CHECK(after.size() == 3);
  CHECK(after.count("out.onnx") == 1);
  CHECK(after.at("report.json") == "new");
}

TEST_CASE("SIGXFSZ is an error, not an end") {
  ScratchFolder dir;
  const ChildResult limited = RunInChild([&] {
    RemoveTemporariesOnSignals();
    const struct rlimit limit = {1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    return WriteFileAtomically(dir.File("out.onnx"), {},
                               [](AtomicFile& file) { return file.Append(std::string(2000, 'x')); });
  });
  CheckRefused(limited, absl::StatusCode::kUnavailable, "File too large");
  CHECK(Snapshot(dir.path()).empty());
}

}  // namespace
}  // namespace amp
