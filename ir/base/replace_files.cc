#include "ir/base/replace_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <utility>

#include "ir/base/status.h"

namespace amp {
namespace {

constexpr int kLockAttempts = 6000;
constexpr useconds_t kLockPauseMicroseconds = 10'000;

absl::Status SyncDirectory(FileSystem& fs, const AtomicFile& file) {
  const int error = fs.Sync(file.directory());
  if (error < 0 && error != -EINVAL && error != -ENOTSUP) {
    return InFile(file.path(), IoError("cannot write (fsync of the directory): ", ErrnoText(error)));
  }
  return absl::OkStatus();
}

absl::Status PlaceAll(FileSystem& fs, const std::vector<Replacement>& replacements) {
  for (const Replacement& replacement : replacements) {
    if (&replacement == &replacements.back()) break;
    AMP_RETURN_IF_ERROR(replacement.file->Place(replacement.target));
    AMP_RETURN_IF_ERROR(SyncDirectory(fs, *replacement.file));
  }
  const Replacement& last = replacements.back();
  AMP_RETURN_IF_ERROR(last.file->Rename(last.target));
  fs.Sync(last.file->directory());  // all is whole either way; only how soon the rename is durable depends on it
  return absl::OkStatus();
}

void TakeAllBack(const std::vector<Replacement>& replacements) {
  for (auto it = replacements.rbegin(); it != replacements.rend(); ++it) it->file->TakeBack();
}

}  // namespace

absl::StatusOr<UniqueFile> LockDirectory(FileSystem& fs, int dir, const std::string& path) {
  UniqueFile lock(fs, fs.Open(dir, ".", O_RDONLY | O_DIRECTORY));
  if (!lock.ok()) return InFile(path, IoError("cannot open the directory: ", ErrnoText(lock.get())));
  for (int attempt = 0; fs.Lock(lock.get()) == -EWOULDBLOCK; ++attempt) {
    if (attempt == kLockAttempts) {
      return InFile(path, IoError("another process has held the lock of the directory for a minute"));
    }
    ::usleep(kLockPauseMicroseconds);
  }
  return lock;
}

absl::Status ReplaceFiles(FileSystem& fs, const std::vector<Replacement>& replacements) {
  const SignalsWait signals_wait;
  absl::Status placed;
  try {
    placed = PlaceAll(fs, replacements);
  } catch (const std::bad_alloc&) {  // of a message, or of what the file system is given
    TakeAllBack(replacements);
    throw;
  }
  if (!placed.ok()) {
    TakeAllBack(replacements);
    return placed;
  }
  for (auto it = replacements.rbegin(); it != replacements.rend(); ++it) it->file->Keep();
  CountPutInPlace();
  return placed;
}

}  // namespace amp
