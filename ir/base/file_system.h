// The one seam between this project and the operating system's files, so that tests can make every call fail.
//
// Thin wrappers: each returns what the system call returns, or -errno. Nothing here retries or interprets.
// FileSystem::Real() is stateless and may be used from several threads.
#ifndef AMP_IR_BASE_FILE_SYSTEM_H_
#define AMP_IR_BASE_FILE_SYSTEM_H_

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace amp {

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  static FileSystem& Real();

  // `dir` is a directory descriptor or AT_FDCWD. O_CLOEXEC is added.
  virtual int Open(int dir, const std::string& path, int flags, mode_t mode = 0);
  // openat2 with RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS, read only, without blocking on a FIFO.
  virtual int OpenBeneath(int dir, const std::string& path);
  virtual int Close(int file);
  virtual int Stat(int file, struct stat* result);
  virtual int StatPath(int dir, const std::string& path, struct stat* result);    // follows no symbolic link
  virtual int StatTarget(int dir, const std::string& path, struct stat* result);  // follows symbolic links
  virtual ssize_t ReadAt(int file, void* buffer, size_t size, int64_t offset);
  virtual ssize_t Write(int file, const void* buffer, size_t size);
  virtual int Allocate(int file, int64_t size);  // reserves space, keeps contents
  virtual int Sync(int file);
  virtual int Lock(int file);  // exclusive and advisory; -EWOULDBLOCK if another process has it
  virtual int Rename(int dir, const std::string& from, const std::string& to);
  virtual int Exchange(int dir, const std::string& a, const std::string& b);  // both exist; each gets the other's name
  virtual int CheckWritable(int dir, const std::string& path);                // -EACCES, -EROFS: not by this user
  virtual int Unlink(int dir, const std::string& path);
  virtual int List(int dir, std::vector<std::string>* names);  // without "." and ".."
};

// Owns a file descriptor.
class UniqueFile {
 public:
  UniqueFile() = default;
  UniqueFile(FileSystem& fs, int file) : fs_(&fs), file_(file) {}
  UniqueFile(UniqueFile&& other) noexcept : fs_(other.fs_), file_(other.Release()) {}
  UniqueFile& operator=(UniqueFile&& other) noexcept;
  ~UniqueFile();
  int get() const { return file_; }
  bool ok() const { return file_ >= 0; }
  int Release() {
    const int file = file_;
    file_ = -1;
    return file;
  }

 private:
  FileSystem* fs_ = nullptr;
  int file_ = -1;
};

// "No space left on device"; locale-independent, for a negative or positive errno.
std::string ErrnoText(int error);

// Fills `buffer` from `offset`, through EINTR and partial reads. A file that ends early is an error: it changed.
absl::Status ReadFully(FileSystem& fs, int file, int64_t offset, absl::Span<char> buffer);
// Writes all of `bytes`, through EINTR and partial writes.
absl::Status WriteFully(FileSystem& fs, int file, absl::string_view bytes);

// "a/b/c.onnx" -> {"a/b", "c.onnx"}; "c.onnx" -> {".", "c.onnx"}; "/c.onnx" -> {"/", "c.onnx"}.
struct PathParts {
  std::string directory, name;
};
PathParts SplitPath(absl::string_view path);

}  // namespace amp

#endif  // AMP_IR_BASE_FILE_SYSTEM_H_
