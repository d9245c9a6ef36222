// Files that appear whole or not at all.
//
//   AtomicFile::Create     .model.onnx.amp-4711-9f3c21d07be85a16.tmp in the target's directory, locked
//   Reserve, Append        space first, so that a full disk fails early
//   Finish                 fsync
//   Rename                 over the target; or Place, which can be taken back until Keep
//
// Destroyed before that, the temporary is gone. One that SIGKILL left behind is swept by the next run that writes the
// same target: its process is dead and its lock is free.
#ifndef AMP_IR_BASE_ATOMIC_FILE_H_
#define AMP_IR_BASE_ATOMIC_FILE_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ir/base/file_kind.h"
#include "ir/base/file_system.h"

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

  // Like Rename, but TakeBack gives the target its earlier contents again, or removes it if there was none. Where the
  // file system cannot exchange two names, this is Rename, and TakeBack does nothing.
  absl::Status Place(const std::string& target);
  void TakeBack();
  void Keep();

  const std::string& temporary_name() const { return name_; }
  const std::string& path() const { return path_; }
  int directory() const { return dir_; }
  int64_t size() const { return size_; }
  int descriptor() const { return file_.get(); }

 private:
  AtomicFile(FileSystem& fs, int dir, std::string path, std::string name);
  int Open(mode_t mode);  // 0, or the negative errno
  absl::Status Flush();
  void ForgetTemporary();

  // The file behind the temporary's name: the written one, the target as it was before, or none.
  enum class State { kWritten, kReplaced, kNothing };

  FileSystem* fs_;
  int dir_;
  std::string path_;  // what is to be written
  std::string name_;  // of the temporary
  UniqueFile file_;
  std::string buffer_;
  int64_t size_ = 0;
  State state_ = State::kNothing;
  std::string placed_;  // the target of Place while it can be taken back
};

// A finished file and the directory that it is to appear in.
struct FinishedFile {
  UniqueFile dir;
  AtomicFile file;
  std::string target;
};

// The directory that a file is to be written to. Errors name `path`.
absl::StatusOr<UniqueFile> OpenDirectoryOf(FileSystem& fs, const std::string& path);
// Whether what is there under the name of `path`, described by `info`, may be replaced by `content`: only a regular
// file that this user may write, of the same kind. Errors name `path`: kPermissionDenied; kUnavailable, a read-only
// file system.
absl::Status CheckReplaceable(FileSystem& fs, int dir, const std::string& path, const struct stat& info,
                              const NewContent& content);

// Whether `name` is that of a temporary of the file `target`.
bool IsTemporaryOf(const std::string& name, const std::string& target);

// Removes temporaries of `target` whose process is dead. Failures are ignored: they are tried again next time.
void SweepTemporaries(FileSystem& fs, int dir, const std::string& target);

// Writes `path` through a temporary. `content`: what `produce` writes. Errors: kUnavailable, kPermissionDenied (the
// target exists and is read-only, not a regular file, or of another kind), those of `produce`; then the earlier file is
// untouched.
absl::StatusOr<FinishedFile> PrepareFile(const std::string& path, const NewContent& content,
                                         const std::function<absl::Status(AtomicFile&)>& produce,
                                         FileSystem& fs = FileSystem::Real());
absl::Status WriteFileAtomically(const std::string& path, const NewContent& content,
                                 const std::function<absl::Status(AtomicFile&)>& produce,
                                 FileSystem& fs = FileSystem::Real());

// From now on the signals that ask a process to end (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU), unless they are
// ignored already, as SIGHUP is under nohup, remove what is not finished first; and SIGXFSZ and SIGPIPE are ignored, so
// that writing reports them as errors. For main(); the library never calls it.
void RemoveTemporariesOnSignals();

// While one exists, those signals wait: several files are about to change together.
class SignalsWait {
 public:
  SignalsWait();
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;
  ~SignalsWait();

  // Whether this thread has one.
  static bool IsOnThisThread();
};

// Removes unfinished files, as those signals do first, for a process that is about to end for another reason. Allocates
// nothing. If another thread has a SignalsWait, waits for its end, but not for ever.
void RemoveUnfinishedFiles();

// How often files were put in their places, one alone or several together. For who ends the process and wants to know
// whether what it was to write is there.
int64_t NumPutInPlace();
void CountPutInPlace();

// Names a file that those signals should remove; Forget it once it is to stay. Up to 16 at a time, more are not noted.
// A folder is removed behind the files, if it is empty then.
enum class Remembered { kFile, kFolder };
void RememberForSignals(int dir, const std::string& name, Remembered what = Remembered::kFile);
void ForgetForSignals(int dir, const std::string& name);

// Names a process group that those signals should kill first; 0: none.
void SetGroupForSignals(pid_t leader);

}  // namespace amp

#endif  // AMP_IR_BASE_ATOMIC_FILE_H_
