// Memory that runs out inside the library: its host gets a status, or std::bad_alloc from internal functions, and lives
// on.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <stdexcept>
#include <system_error>

#include "ir/base/fenced.h"
#include "ir/base/replace_files.h"
#include "passes/report/report.h"
#include "runtime/values/npy.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"
#include "tests/scratch_folder.h"
#include "tools/library/amp.h"

namespace {

// The number of allocations of this process that succeed before one fails, or all that follow do. With -1 none fails.
long left = -1;
bool all_behind_it_fail = false;

bool Fails() {
  if (left < 0) return false;
  if (left > 0) return --left, false;
  if (!all_behind_it_fail) left = -1;
  errno = ENOMEM;
  return true;
}

}  // namespace

extern "C" {
void* __libc_malloc(size_t size);                 // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(size_t count, size_t size);   // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void* memory, size_t size);  // NOLINT(bugprone-reserved-identifier)
void* malloc(size_t size) noexcept { return Fails() ? nullptr : __libc_malloc(size); }
void* calloc(size_t count, size_t size) noexcept { return Fails() ? nullptr : __libc_calloc(count, size); }
void* realloc(void* memory, size_t size) noexcept { return Fails() ? nullptr : __libc_realloc(memory, size); }
}

namespace amp {
namespace {

class FailingAt {
 public:
  explicit FailingAt(long number, bool all = false) {
    all_behind_it_fail = all;
    left = number;
  }
  ~FailingAt() { left = -1; }
  FailingAt(const FailingAt&) = delete;
  FailingAt& operator=(const FailingAt&) = delete;
  bool HasFailed() const { return left <= 0; }
};

// `work` with its first allocation failing, its second, and so on, until none does. How often that was.
template <typename Work>
long FailEach(Work work) {
  for (long number = 0;; ++number) {
    bool has_failed = false;
    absl::Status status;
    try {
      const FailingAt failing(number);
      status = work();
      has_failed = left < 0;
    } catch (const std::bad_alloc&) {
      has_failed = true;
      status = absl::ResourceExhaustedError("");
    }
    INFO("allocation " << number << ": " << status.ToString());
    if (!status.ok()) REQUIRE(absl::IsResourceExhausted(status));
    if (!has_failed) return number;
  }
}

TEST_CASE("what is said about memory needs none") {
  const auto all_fail = []() -> absl::Status {
    all_behind_it_fail = true;
    left = 0;
    throw std::bad_alloc();
  };
  const absl::Status status = Fenced("m.onnx", all_fail);
  left = -1;
  CHECK(status == absl::ResourceExhaustedError("m.onnx: out of memory"));
}

TEST_CASE("another exception is an internal error, and one about threads is not") {
  CHECK(Fenced("m.onnx", []() -> absl::Status { throw std::runtime_error("odd"); }) ==
        absl::InternalError("m.onnx: a fault of this program, please report it: odd"));
  CHECK(absl::IsResourceExhausted(Fenced("", []() -> absl::StatusOr<int> {
                                    throw std::system_error(
                                        std::make_error_code(std::errc::resource_unavailable_try_again));
                                  }).status()));
  CHECK(*Fenced("", []() -> absl::StatusOr<int> { return 3; }) == 3);
}

TEST_CASE("a report is JSON, or there is no memory for it") {
  Report report;
  report.nodes.resize(3);
  report.nodes[1].path = "a path that is longer than a string holds without memory of its own";
  report.warnings = {"a warning that is longer than a string holds without memory of its own", "another"};
  report.casts.resize(2);
  report.weights.resize(2);
  const std::string whole = ReportJson(report);
  const long count =
      FailEach([&] { return ReportJson(report) == whole ? absl::OkStatus() : absl::InternalError("cut"); });
  CHECK(count > 20);
}

TEST_CASE("an archive is written and read, or there is no memory for it") {
  const ScratchFolder folder;
  const NamedTensors tensors = {{"x", Tensor::OfInts({1, 2, 3})}, {"y", Tensor::Scalar(2.0F)}};
  for (const NpzForm form : {NpzForm::kCompress, NpzForm::kStore}) {
    CHECK(FailEach([&] { return NpzBytes(tensors, form).status(); }) > 10);
  }
  const std::string path = folder.Write("a.npz", *NpzBytes(tensors));
  CHECK(FailEach([&] { return ReadNpz(path).status(); }) > 10);
}

// Memory runs out when the last of several files is renamed.
class FilesWithoutMemory : public FileSystem {
 public:
  int Rename(int, const std::string&, const std::string&) override { throw std::bad_alloc(); }
};

TEST_CASE("files that change together are taken back when memory runs out in between") {
  const ScratchFolder folder;
  folder.Write("first", "old");
  folder.Write("last", "old");
  FilesWithoutMemory files;
  {
    const auto make = [&](const std::string& name) {
      return PrepareFile(
          folder.File(name), {.force = true}, [](AtomicFile& file) { return file.Append("new"); }, files);
    };
    absl::StatusOr<FinishedFile> first = make("first"), last = make("last");
    REQUIRE((first.ok() && last.ok()));
    CHECK_THROWS_AS(ReplaceFiles(files, {{&first->file, "first"}, {&last->file, "last"}}), std::bad_alloc);
  }
  CHECK(folder.Read("first") == "old");
  CHECK(folder.Read("last") == "old");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 2);
}

// Runs `work` in a child process in which an allocation fails. Returns 0 if the child lives, 1 if it lives and its
// status is not about memory, 2 for an exception, 3 if no allocation failed, and 128 or more for a signal.
template <typename Work>
int Outcome(long number, Work work) {
  const pid_t child = ::fork();
  if (child == 0) {
    (void)!::freopen("/dev/null", "w", stderr);
    for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE}) ::signal(signal, SIG_DFL);  // which the tests' main has
    int code = 0;
    try {
      const FailingAt failing(number);
      const absl::Status status = work();
      if (left >= 0) code = 3;
      if (!status.ok() && !absl::IsResourceExhausted(status)) code = 1;
    } catch (...) {
      code = 2;
    }
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

template <typename Work>
std::map<int, int> Outcomes(Work work) {
  constexpr long kStep = 7;
  std::map<int, int> outcomes;
  for (long number = 0;; number += kStep) {
    const int outcome = Outcome(number, work);
    if (outcome == 3) return outcomes;
    ++outcomes[outcome];
    INFO("allocation " << number);
    CHECK((outcome == 0 || outcome >= 128));
  }
}

// The limit that tools/library/amp.h states: tables of Abseil's that could not grow, and JSON values of records.
int Signals(const std::map<int, int>& outcomes) {
  int count = 0;
  for (const auto& [outcome, times] : outcomes) count += outcome >= 128 ? times : 0;
  return count;
}

TEST_CASE("a rewrite, a session and a run give their host a status") {
  const onnx::ModelProto model = ModelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}> { a = MatMul (x, w) b = Exp (a) y = Relu (b) })");
  RewriteOptions options;
  options.report = true;
  const auto rewrite = [&] { return Rewrite(model, options).status(); };
  REQUIRE(rewrite().ok());
  const std::map<int, int> rewrites = Outcomes(rewrite);
  REQUIRE(rewrites.contains(0));
  CHECK(rewrites.at(0) > 50);
  WARN("rewrites that ended by a signal, of " << rewrites.at(0) << ": " << Signals(rewrites));
  const absl::StatusOr<std::unique_ptr<Session>> session = MakeSession(model, {.limits = {}, .threads = 1});
  REQUIRE(session.ok());
  const NamedDatums inputs = {{"x", Tensor::Of<float>(DType::kFloat32, {2, 2}, {1, 2, 3, 4})}};
  const auto run = [&] { return (*session)->Run(inputs).status(); };
  REQUIRE(run().ok());
  const std::map<int, int> runs = Outcomes(run);
  CHECK(Signals(runs) == 0);
}

}  // namespace
}  // namespace amp
