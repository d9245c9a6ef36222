#include "ir/base/atomic_file.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "ir/base/status.h"

namespace amp {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

// A file name that a signal handler may read: plain memory behind an atomic flag.
struct RememberedFile {
  std::atomic<int> state{0};  // 0 free, 1 being changed, 2 in use
  Remembered what = Remembered::kFile;
  int dir = -1;
  std::array<char, 256> name = {};
};
std::array<RememberedFile, 16> remembered_files;
std::atomic<pid_t> remembered_group{0};

std::atomic<int> waiting_scopes{0}, waiting_signal{0};
thread_local int scopes_of_thread = 0;
std::atomic<int64_t> num_put_in_place{0};

void UnlinkRemembered() {
  if (const pid_t group = remembered_group.load(); group > 0) ::kill(-group, SIGKILL);
  for (const Remembered what : {Remembered::kFile, Remembered::kFolder}) {
    for (RememberedFile& file : remembered_files) {
      const bool is_there = file.state.load(std::memory_order_acquire) == 2 && file.what == what;
      if (is_there) ::unlinkat(file.dir, file.name.data(), what == Remembered::kFolder ? AT_REMOVEDIR : 0);
    }
  }
}

void RemoveRemembered(int signal) {
  if (waiting_scopes.load() > 0) {
    waiting_signal.store(signal);
    return;
  }
  UnlinkRemembered();
  ::signal(signal, SIG_DFL);
  ::raise(signal);  // the default action, once the handler returns
}

// ".model.onnx.amp-": what every temporary of `target` begins with. Long names are cut, for names end at 255 bytes.
std::string TemporaryPrefix(const std::string& target) { return absl::StrCat(".", target.substr(0, 200), ".amp-"); }

uint64_t RandomNumber() {
  uint64_t number = 0;
  if (::getentropy(&number, sizeof(number)) == 0) return number;
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// The process id in the temporary's name; 0 if it is no temporary with that prefix.
pid_t OwnerOf(absl::string_view name, absl::string_view prefix) {
  if (!absl::ConsumePrefix(&name, prefix) || !absl::ConsumeSuffix(&name, ".tmp")) return 0;
  const size_t dash = name.find('-');
  pid_t pid = 0;
  if (dash == absl::string_view::npos || !absl::SimpleAtoi(name.substr(0, dash), &pid)) return 0;
  const absl::string_view random = name.substr(dash + 1);
  const bool hex = random.size() == 16 && random.find_first_not_of("0123456789abcdef") == absl::string_view::npos;
  return hex && pid > 0 ? pid : 0;
}

absl::Status CannotWrite(absl::string_view path, absl::string_view what, int error) {
  return InFile(path, IoError("cannot ", what, ": ", ErrnoText(error)));
}

}  // namespace

AtomicFile::AtomicFile(FileSystem& fs, int dir, std::string path, std::string name)
    : fs_(&fs), dir_(dir), path_(std::move(path)), name_(std::move(name)) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : fs_(other.fs_),
      dir_(other.dir_),
      path_(std::move(other.path_)),
      name_(std::move(other.name_)),
      file_(std::move(other.file_)),
      buffer_(std::move(other.buffer_)),
      size_(other.size_),
      state_(std::exchange(other.state_, State::kNothing)),
      placed_(std::exchange(other.placed_, "")) {}

AtomicFile::~AtomicFile() {
  if (state_ == State::kNothing) return;
  fs_->Unlink(dir_, name_);
  ForgetForSignals(dir_, name_);
}

absl::StatusOr<AtomicFile> AtomicFile::Create(FileSystem& fs, int dir, const std::string& path, mode_t mode) {
  const std::string target = SplitPath(path).name;
  int error = 0;
  for (int attempt = 0; attempt < 16; ++attempt) {
    AtomicFile file(fs, dir, path,
                    absl::StrFormat("%s%d-%016x.tmp", TemporaryPrefix(target), ::getpid(), RandomNumber()));
    error = file.Open(mode);
    if (error == -EEXIST) continue;
    if (error < 0) break;
    return file;
  }
  return CannotWrite(path, "create a file beside it", error);
}

// Nothing in here allocates: the file is never there without somebody who removes it.
int AtomicFile::Open(mode_t mode) {
  RememberForSignals(dir_, name_);
  const int file = fs_->Open(dir_, name_, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  if (file < 0) {
    ForgetForSignals(dir_, name_);
    return file;
  }
  file_ = UniqueFile(*fs_, file);
  state_ = State::kWritten;
  fs_->Lock(file);  // only keeps sweepers off; where locks are missing, the process id has to do
  return 0;
}

absl::Status AtomicFile::Reserve(int64_t size) {
  if (size <= 0) return absl::OkStatus();
  int error = 0;
  do {
    error = fs_->Allocate(file_.get(), size);
  } while (error == -EINTR);
  const bool unsupported = error == -EOPNOTSUPP || error == -ENOSYS || error == -EINVAL || error == -ENODEV;
  if (error == 0 || unsupported) return absl::OkStatus();
  return CannotWrite(path_, absl::StrCat("reserve ", size, " bytes"), error);
}

absl::Status AtomicFile::Flush() {
  absl::Status status = InFile(path_, WriteFully(*fs_, file_.get(), buffer_));
  buffer_.clear();
  return status;
}

absl::Status AtomicFile::Append(absl::string_view bytes) {
  size_ += static_cast<int64_t>(bytes.size());
  if (buffer_.size() + bytes.size() > kBufferBytes) AMP_RETURN_IF_ERROR(Flush());
  if (bytes.size() >= kBufferBytes) return InFile(path_, WriteFully(*fs_, file_.get(), bytes));
  buffer_.append(bytes.data(), bytes.size());
  return absl::OkStatus();
}

absl::Status AtomicFile::Finish() {
  AMP_RETURN_IF_ERROR(Flush());
  if (const int error = fs_->Sync(file_.get()); error < 0) return CannotWrite(path_, "write (fsync)", error);
  return absl::OkStatus();
}

absl::Status AtomicFile::Rename(const std::string& target) {
  if (const int error = fs_->Rename(dir_, name_, target); error < 0)
    return CannotWrite(path_, "rename the finished file", error);
  ForgetTemporary();
  return absl::OkStatus();
}

void AtomicFile::ForgetTemporary() {
  state_ = State::kNothing;
  ForgetForSignals(dir_, name_);
  file_ = UniqueFile();  // with it goes the lock that kept sweepers off
}

absl::Status AtomicFile::Place(const std::string& target) {
  std::string placed = target;  // now: behind the exchange nothing may fail for want of memory
  const int error = fs_->Exchange(dir_, name_, target);
  if (error == 0) {
    state_ = State::kReplaced;
    placed_ = std::move(placed);
    return absl::OkStatus();
  }
  const bool unsupported = error == -EINVAL || error == -ENOSYS || error == -EOPNOTSUPP || error == -EPERM;
  if (error != -ENOENT && !unsupported) return CannotWrite(path_, "rename the finished file", error);
  AMP_RETURN_IF_ERROR(Rename(target));
  if (error == -ENOENT) placed_ = std::move(placed);
  return absl::OkStatus();
}

void AtomicFile::TakeBack() {
  if (placed_.empty()) return;
  if (state_ == State::kNothing) {
    fs_->Unlink(dir_, placed_);
  } else if (fs_->Exchange(dir_, name_, placed_) == 0) {
    state_ = State::kWritten;
  } else {
    ForgetTemporary();  // stays: it holds the only copy of what was there before
  }
  placed_.clear();
}

void AtomicFile::Keep() {
  if (state_ == State::kReplaced) {
    fs_->Unlink(dir_, name_);
    ForgetTemporary();
  }
  placed_.clear();
}

bool IsTemporaryOf(const std::string& name, const std::string& target) {
  return OwnerOf(name, TemporaryPrefix(target)) != 0;
}

void SweepTemporaries(FileSystem& fs, int dir, const std::string& target) {
  std::vector<std::string> names;
  if (fs.List(dir, &names) < 0) return;
  const std::string prefix = TemporaryPrefix(target);
  for (const std::string& name : names) {
    const pid_t owner = OwnerOf(name, prefix);
    if (owner == 0 || ::kill(owner, 0) == 0 || errno != ESRCH) continue;
    UniqueFile file(fs, fs.Open(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    if (!file.ok() || fs.Lock(file.get()) == -EWOULDBLOCK) continue;  // its owner lives, seen from elsewhere
    fs.Unlink(dir, name);
  }
}

absl::StatusOr<UniqueFile> OpenDirectoryOf(FileSystem& fs, const std::string& path) {
  const PathParts parts = SplitPath(path);
  if (parts.name.empty()) return InFile(path, UsageError("expected a file name, found a directory"));
  UniqueFile dir(fs, fs.Open(AT_FDCWD, parts.directory, O_RDONLY | O_DIRECTORY));
  if (!dir.ok()) return InFile(path, IoError("cannot open the directory: ", ErrnoText(dir.get())));
  return dir;
}

absl::Status CheckReplaceable(FileSystem& fs, int dir, const std::string& path, const struct stat& info,
                              const NewContent& content) {
  if (S_ISDIR(info.st_mode)) return InFile(path, RefusedError("expected a file, found a directory"));
  if (!S_ISREG(info.st_mode)) return InFile(path, RefusedError("exists and is not a regular file"));
  const std::string name = SplitPath(path).name;
  const int error = fs.CheckWritable(dir, name);
  if (error == -EROFS) return InFile(path, IoError("cannot be replaced: ", ErrnoText(error)));
  const bool nobody_writes = (info.st_mode & 0222) == 0;  // asks root, too, to mean it
  if (nobody_writes || error == -EACCES || error == -EPERM) {
    return InFile(path, RefusedError("exists and is read-only; expected a file that may be replaced: chmod u+w it, or "
                                     "name another"));
  }
  return InFile(path, CheckKind(fs, dir, name, info, content));
}

absl::StatusOr<FinishedFile> PrepareFile(const std::string& path, const NewContent& content,
                                         const std::function<absl::Status(AtomicFile&)>& produce, FileSystem& fs) {
  std::string target = SplitPath(path).name;
  AMP_ASSIGN_OR_RETURN(UniqueFile dir, OpenDirectoryOf(fs, path));
  struct stat info = {};
  const bool exists = fs.StatTarget(dir.get(), target, &info) == 0;
  if (exists) AMP_RETURN_IF_ERROR(CheckReplaceable(fs, dir.get(), path, info, content));
  SweepTemporaries(fs, dir.get(), target);
  AMP_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(fs, dir.get(), path, exists ? info.st_mode & 0777 : 0666));
  AMP_RETURN_IF_ERROR(produce(file));
  AMP_RETURN_IF_ERROR(file.Finish());
  return FinishedFile{std::move(dir), std::move(file), std::move(target)};
}

absl::Status WriteFileAtomically(const std::string& path, const NewContent& content,
                                 const std::function<absl::Status(AtomicFile&)>& produce, FileSystem& fs) {
  AMP_ASSIGN_OR_RETURN(FinishedFile finished, PrepareFile(path, content, produce, fs));
  AMP_RETURN_IF_ERROR(finished.file.Rename(finished.target));
  CountPutInPlace();
  fs.Sync(finished.dir.get());  // the file is whole either way; only how soon the rename is durable depends on it
  return absl::OkStatus();
}

void RemoveTemporariesOnSignals() {
  struct sigaction action = {}, before = {};
  action.sa_handler = RemoveRemembered;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU}) {
    const bool is_ignored = ::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN;
    if (!is_ignored) ::sigaction(signal, &action, nullptr);
  }
  ::signal(SIGXFSZ, SIG_IGN);
  ::signal(SIGPIPE, SIG_IGN);
}

SignalsWait::SignalsWait() {
  ++waiting_scopes;
  ++scopes_of_thread;
}

SignalsWait::~SignalsWait() {
  --scopes_of_thread;
  if (--waiting_scopes > 0) return;
  if (const int signal = waiting_signal.exchange(0); signal != 0) RemoveRemembered(signal);
}

bool SignalsWait::IsOnThisThread() { return scopes_of_thread > 0; }

void RemoveUnfinishedFiles() {
  constexpr int kAttempts = 1000;
  constexpr useconds_t kPauseMicroseconds = 10'000;
  for (int i = 0; i < kAttempts && waiting_scopes.load() > scopes_of_thread; ++i) ::usleep(kPauseMicroseconds);
  if (waiting_scopes.load() <= scopes_of_thread) UnlinkRemembered();
}

int64_t NumPutInPlace() { return num_put_in_place.load(); }
void CountPutInPlace() { ++num_put_in_place; }

void SetGroupForSignals(pid_t leader) { remembered_group.store(leader); }

void RememberForSignals(int dir, const std::string& name, Remembered what) {
  for (RememberedFile& file : remembered_files) {
    int free = 0;
    if (name.size() >= file.name.size() || !file.state.compare_exchange_strong(free, 1)) continue;
    file.dir = dir;
    file.what = what;
    std::memcpy(file.name.data(), name.c_str(), name.size() + 1);
    file.state.store(2, std::memory_order_release);
    return;
  }
}

void ForgetForSignals(int dir, const std::string& name) {
  for (RememberedFile& file : remembered_files) {
    if (file.state.load() == 2 && file.dir == dir && name == file.name.data()) {
      file.state.store(0);
      return;
    }
  }
}

}  // namespace amp
