// Every call that saving makes to the operating system fails once, in each way it can.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <set>

#include "ir/base/atomic_file.h"
#include "ir/base/status.h"
#include "ir/file/model_file.h"
#include "ir/file/save.h"
#include "tests/catch2.h"
#include "tests/ir/file/fixtures.h"

namespace amp {
namespace {

// Counts the calls of one kind and makes the n-th fail.
class FailingFiles : public FileSystem {
 public:
  enum class Call { kOpen, kStat, kRead, kWrite, kShortWrite, kAllocate, kSync, kRename, kExchange, kClose };
  FailingFiles(Call call, int which, int error) : call_(call), which_(which), error_(error) {}
  bool fired() const { return fired_; }

  int Open(int dir, const std::string& path, int flags, mode_t mode) override {
    return Fails(Call::kOpen) ? -error_ : FileSystem::Open(dir, path, flags, mode);
  }
  int Stat(int file, struct stat* result) override {
    return Fails(Call::kStat) ? -error_ : FileSystem::Stat(file, result);
  }
  ssize_t ReadAt(int file, void* buffer, size_t size, int64_t offset) override {
    return Fails(Call::kRead) ? -error_ : FileSystem::ReadAt(file, buffer, size, offset);
  }
  ssize_t Write(int file, const void* buffer, size_t size) override {
    if (Fails(Call::kWrite)) return -error_;
    return FileSystem::Write(file, buffer, Fails(Call::kShortWrite) ? size / 2 + 1 : size);
  }
  int Allocate(int file, int64_t size) override {
    return Fails(Call::kAllocate) ? -error_ : FileSystem::Allocate(file, size);
  }
  int Sync(int file) override { return Fails(Call::kSync) ? -error_ : FileSystem::Sync(file); }
  int Rename(int dir, const std::string& from, const std::string& to) override {
    return Fails(Call::kRename) ? -error_ : FileSystem::Rename(dir, from, to);
  }
  int Exchange(int dir, const std::string& a, const std::string& b) override {
    return Fails(Call::kExchange) ? -error_ : FileSystem::Exchange(dir, a, b);
  }
  int Close(int file) override {
    const int result = FileSystem::Close(file);
    return Fails(Call::kClose) ? -error_ : result;
  }

 private:
  bool Fails(Call call) {
    if (call != call_ || which_-- != 0) return false;
    fired_ = true;
    return true;
  }

  Call call_;
  int which_;
  int error_;
  bool fired_ = false;
};

void WriteInput(const ScratchFolder& dir) {
  onnx::ModelProto model = SmallModel();
  onnx::TensorProto big = FloatTensor("big", {600'000});
  WriteText(dir.File("w.bin"), big.raw_data());
  MakeExternal(&big, "w.bin");
  *model.mutable_graph()->add_initializer() = std::move(big);
  *model.mutable_graph()->add_initializer() = FloatTensor("embedded", {40'000}, 3);
  WriteText(dir.File("m.onnx"), model.SerializeAsString());
}

absl::Status LoadAndSave(const ScratchFolder& dir, FileSystem& files, ExternalDataPolicy policy) {
  ReadOptions read;
  read.fs = &files;
  auto file = LoadModel(dir.File("m.onnx"), read);
  if (!file.ok()) return file.status();
  SaveOptions options;
  options.input = &*file;
  options.fs = &files;
  options.external_data = policy;
  absl::StatusOr<std::unique_ptr<PreparedSave>> prepared =
      PrepareSave(*file->model, file->weights(), dir.File("out.onnx"), options);
  if (!prepared.ok()) return prepared.status();
  absl::StatusOr<FinishedFile> report = PrepareFile(
      dir.File("report.json"), {FileKind::kJson}, [](AtomicFile& out) { return out.Append("{\"report\": \"new\"}"); },
      files);
  if (!report.ok()) return report.status();
  std::vector<FinishedFile> companions;
  companions.push_back(*std::move(report));
  return (*prepared)->Commit(std::move(companions)).status();
}

// Names and sizes, for messages.
std::string Listing(const std::map<std::string, std::string>& entries) {
  std::string text;
  for (const auto& [name, contents] : entries) text += name + ":" + std::to_string(contents.size()) + " ";
  return text;
}

void Restore(const ScratchFolder& dir, const std::map<std::string, std::string>& entries) {
  for (const auto& [name, contents] : Snapshot(dir.path())) {
    if (entries.count(name) == 0) ::unlink((dir.File(name)).c_str());
  }
  for (const auto& [name, contents] : entries) WriteText(dir.File(name), contents);
}

TEST_CASE("every failing call leaves the earlier output and no stray file") {
  using Call = FailingFiles::Call;
  struct Kind {
    Call call;
    std::vector<int> errors;
  };
  const std::vector<Kind> kinds = {
      {Call::kOpen, {EMFILE, EACCES}},
      {Call::kStat, {EIO}},
      {Call::kRead, {EIO}},
      {Call::kWrite, {ENOSPC, EIO, EDQUOT, EFBIG}},
      {Call::kShortWrite, {0}},
      {Call::kAllocate, {ENOSPC, EDQUOT, EFBIG, EOPNOTSUPP, EINTR}},
      {Call::kSync, {EIO, ENOSPC, EDQUOT}},
      {Call::kRename, {EIO, ENOSPC, EACCES}},
      {Call::kExchange, {EIO, ENOSPC, EACCES, EINVAL}},
      {Call::kClose, {EIO}},
  };
  for (const bool earlier_output : {true, false}) {
    for (const auto policy : {ExternalDataPolicy::kAuto, ExternalDataPolicy::kNever}) {
      ScratchFolder dir;
      WriteInput(dir);
      if (earlier_output) {
        WriteText(dir.File("out.onnx"), SmallModel().SerializeAsString());
        WriteText(dir.File("out.onnx.0123456789abcdef.data"), "somebody's");
        WriteText(dir.File("report.json"), "{\"report\": \"old\"}");
      }
      const auto before = Snapshot(dir.path());
      ScratchFolder good;
      WriteInput(good);
      if (earlier_output) WriteText(good.File("out.onnx.0123456789abcdef.data"), "somebody's");
      REQUIRE(LoadAndSave(good, FileSystem::Real(), policy).ok());
      const auto expected = Snapshot(good.path());
      for (const Kind& kind : kinds) {
        for (const int error : kind.errors) {
          int which = 0, failed = 0;
          for (;; ++which) {
            FailingFiles files(kind.call, which, error);
            const absl::Status status = LoadAndSave(dir, files, policy);
            if (!files.fired()) {
              Restore(dir, before);
              break;
            }
            INFO("call " << int(kind.call) << " number " << which << " error " << error << ": " << status.ToString());
            const auto after = Snapshot(dir.path());
            INFO("found " << Listing(after));
            if (status.ok()) {
              CHECK(after == expected);
              Restore(dir, before);
            } else {
              ++failed;
              CHECK(after == before);
              CHECK(ExitCode(status) == 6);
              CHECK(status.message().find('\n') == std::string::npos);
            }
          }
          CHECK(which > 0);  // the kind of call is made at all
          const bool harmless = kind.call == Call::kShortWrite || kind.call == Call::kClose || error == EOPNOTSUPP ||
                                error == EINTR || error == EINVAL;
          INFO("call " << int(kind.call) << " error " << error);
          CHECK((failed > 0) == !harmless);
        }
      }
    }
  }
}

TEST_CASE("killed at any time, a save leaves a whole model") {
  ScratchFolder dir;
  WriteInput(dir);
  ScratchFolder good;
  WriteInput(good);
  std::set<std::string> whole = {""};  // contents of out.onnx that are right
  for (const auto policy : {ExternalDataPolicy::kAuto, ExternalDataPolicy::kNever}) {
    REQUIRE(LoadAndSave(good, FileSystem::Real(), policy).ok());
    whole.insert(ReadText(good.File("out.onnx")));
  }
  std::mt19937 random(20240229);
  std::uniform_int_distribution<int> delay(0, 25'000);
  int left_behind = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (int i = 0;; ++i) {
        (void)LoadAndSave(dir, FileSystem::Real(), i % 2 == 0 ? ExternalDataPolicy::kAuto : ExternalDataPolicy::kNever);
      }
    }
    ::usleep(static_cast<useconds_t>(delay(random)));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const auto after = Snapshot(dir.path());
    const auto output = after.find("out.onnx");
    if (output != after.end()) {
      const bool is_whole = whole.count(output->second) == 1;
      CHECK(is_whole);
      CHECK(LoadModel(dir.File("out.onnx")).ok());
    }
    for (const auto& [name, contents] : after) left_behind += name.rfind(".out.onnx.amp-", 0) == 0 ? 1 : 0;
  }
  CHECK(left_behind > 0);  // the kills did hit saves
  REQUIRE(LoadAndSave(dir, FileSystem::Real(), ExternalDataPolicy::kAuto).ok());
  for (const auto& [name, contents] : Snapshot(dir.path())) CHECK(name[0] != '.');
}

}  // namespace
}  // namespace amp
