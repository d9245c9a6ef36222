// Files that appear whole or not at all.
//
//   AtomicFile::Create     .model.onnx.amp-4711-9f3c21d07be85a16.tmp in the target's directory, locked
//   Reserve, Append        space first, so that a full disk fails early
//   Finish                 fsync
//   Rename                 over the target
//
// Destroyed before Rename, the temporary is gone. One that SIGKILL left behind is swept by the next run that writes the
// same target: its process is dead and its lock is free.
#ifndef AMP_IR_ATOMIC_FILE_H_
#define AMP_IR_ATOMIC_FILE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ir/file_system.h"

namespace amp {

class AtomicFile {
 public:
  // `path` is a file in the directory `dir`, which stays the caller's and must outlive this. `mode` as for open(2).
  // Errors of all methods name `path`.
  static absl::StatusOr<AtomicFile> Create(FileSystem& fs, int dir, const std::string& path, mode_t mode = 0666);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  absl::Status Reserve(int64_t size);
  absl::Status Append(absl::string_view bytes);  // gathers small pieces
  absl::Status Finish();                         // flush, fsync; the file is complete but still temporary
  absl::Status Rename(const std::string& target);

  const std::string& temporary_name() const { return name_; }
  int64_t size() const { return size_; }
  int descriptor() const { return file_.get(); }

 private:
  AtomicFile(FileSystem& fs, int dir, std::string path, std::string name, UniqueFile file);
  absl::Status Flush();

  FileSystem* fs_;
  int dir_;
  std::string path_;  // what is to be written
  std::string name_;  // of the temporary
  UniqueFile file_;
  std::string buffer_;
  int64_t size_ = 0;
  bool pending_ = true;  // the temporary exists
};

// The directory that a file is to be written to, and whether what is there under its name may be replaced. Errors name
// `path`.
absl::StatusOr<UniqueFile> OpenDirectoryOf(FileSystem& fs, const std::string& path);
absl::Status CheckReplaceable(const std::string& path, const struct stat& info);

// Removes temporaries of `target` whose process is dead. Failures are ignored: they are tried again next time.
void SweepTemporaries(FileSystem& fs, int dir, const std::string& target);

// Writes `path` through a temporary. Errors: kUnavailable, kPermissionDenied (the target exists and is not a regular
// file), those of `produce`; then the earlier file is untouched.
absl::Status WriteFileAtomically(const std::string& path, const std::function<absl::Status(AtomicFile&)>& produce,
                                 FileSystem& fs = FileSystem::Real());

// From now on SIGINT and SIGTERM remove what is not finished before they end the process, and SIGXFSZ and SIGPIPE are
// ignored, so that writing reports them as errors. For main(); the library never calls it.
void RemoveTemporariesOnSignals();

// Names a file that those signals should remove; Forget it once it is to stay. Up to 16 at a time, more are not noted.
void RememberForSignals(int dir, const std::string& name);
void ForgetForSignals(int dir, const std::string& name);

}  // namespace amp

#endif  // AMP_IR_ATOMIC_FILE_H_
