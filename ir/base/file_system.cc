#include "ir/base/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "ir/base/status.h"

namespace amp {
namespace {

template <typename T>
T Result(T value) {
  return value < 0 ? static_cast<T>(-errno) : value;
}

}  // namespace

FileSystem& FileSystem::Real() {
  static FileSystem real;
  return real;
}

int FileSystem::Open(int dir, const std::string& path, int flags, mode_t mode) {
  return Result(::openat(dir, path.c_str(), flags | O_CLOEXEC, mode));
}

int FileSystem::OpenBeneath(int dir, const std::string& path) {
  struct open_how how = {};
  how.flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(Result(::syscall(SYS_openat2, dir, path.c_str(), &how, sizeof(how))));
}

int FileSystem::Close(int file) { return Result(::close(file)); }

int FileSystem::Stat(int file, struct stat* result) { return Result(::fstat(file, result)); }

int FileSystem::StatPath(int dir, const std::string& path, struct stat* result) {
  return Result(::fstatat(dir, path.c_str(), result, AT_SYMLINK_NOFOLLOW));
}

int FileSystem::StatTarget(int dir, const std::string& path, struct stat* result) {
  return Result(::fstatat(dir, path.c_str(), result, 0));
}

ssize_t FileSystem::ReadAt(int file, void* buffer, size_t size, int64_t offset) {
  return Result(::pread(file, buffer, size, offset));
}

ssize_t FileSystem::Write(int file, const void* buffer, size_t size) { return Result(::write(file, buffer, size)); }

int FileSystem::Allocate(int file, int64_t size) { return Result(::fallocate(file, 0, 0, size)); }

int FileSystem::Sync(int file) { return Result(::fsync(file)); }

int FileSystem::Lock(int file) { return Result(::flock(file, LOCK_EX | LOCK_NB)); }

int FileSystem::Rename(int dir, const std::string& from, const std::string& to) {
  return Result(::renameat(dir, from.c_str(), dir, to.c_str()));
}

int FileSystem::Exchange(int dir, const std::string& a, const std::string& b) {
  return static_cast<int>(Result(::syscall(SYS_renameat2, dir, a.c_str(), dir, b.c_str(), RENAME_EXCHANGE)));
}

int FileSystem::CheckWritable(int dir, const std::string& path) {
  return Result(::faccessat(dir, path.c_str(), W_OK, AT_EACCESS));
}

int FileSystem::Unlink(int dir, const std::string& path) { return Result(::unlinkat(dir, path.c_str(), 0)); }

int FileSystem::List(int dir, std::vector<std::string>* names) {
  const int copy = Open(dir, ".", O_RDONLY | O_DIRECTORY);
  if (copy < 0) return copy;
  DIR* stream = ::fdopendir(copy);
  if (stream == nullptr) {
    const int error = -errno;
    ::close(copy);
    return error;
  }
  while (const dirent* entry = ::readdir(stream)) {
    const absl::string_view name = entry->d_name;
    if (name != "." && name != "..") names->emplace_back(name);
  }
  ::closedir(stream);
  return 0;
}

UniqueFile& UniqueFile::operator=(UniqueFile&& other) noexcept {
  if (this != &other) {
    if (ok()) fs_->Close(file_);
    fs_ = other.fs_;
    file_ = other.Release();
  }
  return *this;
}

UniqueFile::~UniqueFile() {
  if (ok()) fs_->Close(file_);
}

std::string ErrnoText(int error) {
  const int code = error < 0 ? -error : error;
  const char* text = ::strerrordesc_np(code);
  return text != nullptr ? std::string(text) : absl::StrCat("error ", code);
}

absl::Status ReadFully(FileSystem& fs, int file, int64_t offset, absl::Span<char> buffer) {
  while (!buffer.empty()) {
    const ssize_t got = fs.ReadAt(file, buffer.data(), buffer.size(), offset);
    if (got == -EINTR) continue;
    if (got < 0) return IoError("cannot read: ", ErrnoText(static_cast<int>(got)));
    if (got == 0) return IoError("file changed while it was read: ends at byte ", offset);
    offset += got;
    buffer.remove_prefix(static_cast<size_t>(got));
  }
  return absl::OkStatus();
}

absl::Status WriteFully(FileSystem& fs, int file, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = fs.Write(file, bytes.data(), bytes.size());
    if (put == -EINTR) continue;
    if (put < 0) return IoError("cannot write: ", ErrnoText(static_cast<int>(put)));
    if (put == 0) return IoError("cannot write: nothing was accepted");
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return absl::OkStatus();
}

PathParts SplitPath(absl::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos) return {".", std::string(path)};
  return {std::string(slash == 0 ? "/" : path.substr(0, slash)), std::string(path.substr(slash + 1))};
}

}  // namespace amp
