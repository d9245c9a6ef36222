#include "tools/library/file_uses.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "ir/base/atomic_file.h"
#include "ir/base/status.h"
#include "ir/file/external_data.h"
#include "ir/file/model_file.h"

namespace amp {
namespace {

// Pairs of flags that may name one file.
struct SharedFile {
  absl::string_view reads, writes;
};
constexpr SharedFile kSharedFiles[] = {
    {"--resume", "--checkpoint"},  // a run goes on in the file that it came from
    {"--autotune", "--autotune"},  // read where it exists, then written with what is new
    {"--search-log", "--search-log"},
    {"MODEL", "--in-place"},  // what that flag is for
};

bool MayShare(const FileRead& read, const FileWritten& written) {
  return std::any_of(std::begin(kSharedFiles), std::end(kSharedFiles),
                     [&](const SharedFile& pair) { return pair.reads == read.flag && pair.writes == written.flag; });
}

constexpr absl::string_view kDash = "-";

bool IsFile(const std::string& path) { return !path.empty() && path != kDash; }

// Elsewhere "-" is standard input or output; a file of that name would be read, or made, unawares.
absl::Status CheckNoDash(const std::string& flag, const std::string& path) {
  return path != kDash ? absl::OkStatus()
                       : UsageError(flag, ": expected a path, found '-'; a file of that name is ./-");
}

// The full path of a file that need not exist: links are followed, also one whose target is missing.
std::string FullPath(std::filesystem::path path) {
  constexpr int kMostLinks = 40;
  std::error_code error;
  for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(path, error); ++i) {
    path = path.parent_path() / std::filesystem::read_symlink(path, error);
  }
  const std::filesystem::path full = std::filesystem::weakly_canonical(path, error);
  return error ? path.string() : full.string();
}

std::string IdentityText(dev_t device, ino_t inode) { return absl::StrCat(device, ":", inode); }

// A path as it is now.
struct Place {
  std::string identity;  // "" for what may be shared: a device, a pipe, a folder
  bool is_there = false;
  struct stat info = {};
};

Place Look(const std::string& path) {
  Place place;
  place.is_there = FileSystem::Real().StatTarget(AT_FDCWD, path, &place.info) == 0;
  if (!place.is_there) {
    place.identity = FullPath(path);
  } else if (S_ISREG(place.info.st_mode)) {
    place.identity = IdentityText(place.info.st_dev, place.info.st_ino);
  }
  return place;
}

std::multimap<std::string, const FileRead*> ReadersByIdentity(const FileUses& uses) {
  std::multimap<std::string, const FileRead*> readers;
  for (const FileRead& read : uses.reads) {
    if (!IsFile(read.path)) continue;
    readers.emplace(read.opened ? IdentityText(read.opened->first, read.opened->second) : Look(read.path).identity,
                    &read);
  }
  readers.erase("");
  return readers;
}

absl::Status WouldReplaceInput(const FileWritten& written, const FileRead& read) {
  const std::string which = read.path == written.path ? "" : absl::StrCat(" ('", Escaped(read.path), "')");
  const bool may_be_in_place = read.flag == "MODEL" && !read.opened && written.flag == "-o";
  return InFile(Escaped(written.path),
                RefusedError(written.flag, " would replace the file of ", read.flag, which, "; expected another file",
                             may_be_in_place ? ", or --in-place" : ""));
}

absl::Status CheckKindOf(const FileWritten& written, const Place& place, bool force) {
  if (!place.is_there || !S_ISREG(place.info.st_mode)) return absl::OkStatus();
  const NewContent content{written.kind, force};
  const absl::Status status = CheckKind(FileSystem::Real(), AT_FDCWD, written.path, place.info, content);
  if (status.ok()) return absl::OkStatus();
  return InFile(Escaped(written.path), absl::Status(status.code(), absl::StrCat(written.flag, ": ", status.message())));
}

}  // namespace

void AddDataFiles(const std::string& flag, const ExternalData& external, FileUses& uses) {
  for (const auto& [location, file] : external.files()) {
    struct stat info = {};
    if (file->fs->Stat(file->file.get(), &info) != 0) continue;
    uses.reads.push_back({.flag = flag, .path = location, .opened = std::pair(info.st_dev, info.st_ino)});
  }
}

void AddDataFilesOf(const std::string& flag, const std::string& model, const Limits& limits, FileUses& uses) {
  if (!IsFile(model)) return;
  const absl::StatusOr<LoadedFile> file = LoadModel(model, {.limits = limits, .payloads = Payloads::kLeaveOut});
  if (file.ok()) AddDataFiles(flag, *file->external, uses);
}

absl::Status CheckFileUses(const FileUses& uses) {
  for (const FileRead& read : uses.reads) {
    if (!read.opened) AMP_RETURN_IF_ERROR(CheckNoDash(read.flag, read.path));
  }
  for (const FileWritten& written : uses.writes) AMP_RETURN_IF_ERROR(CheckNoDash(written.flag, written.path));
  const std::multimap<std::string, const FileRead*> readers = ReadersByIdentity(uses);
  std::map<std::string, const FileWritten*> writers;
  for (const FileWritten& written : uses.writes) {
    if (!IsFile(written.path)) continue;
    const Place place = Look(written.path);
    if (place.identity.empty()) continue;
    const auto [first, last] = readers.equal_range(place.identity);
    for (auto it = first; it != last; ++it) {
      if (!MayShare(*it->second, written)) return WouldReplaceInput(written, *it->second);
    }
    const auto [other, is_only] = writers.emplace(place.identity, &written);
    if (!is_only) {
      return InFile(Escaped(written.path), RefusedError(other->second->flag, " and ", written.flag,
                                                        " would write the same file; expected two"));
    }
    if (first == last) AMP_RETURN_IF_ERROR(CheckKindOf(written, place, uses.force));  // else reading judges it
  }
  return absl::OkStatus();
}

absl::Status CheckTargets(const FileUses& uses) {
  FileSystem& fs = FileSystem::Real();
  for (const FileWritten& written : uses.writes) {
    const bool is_read_first = std::any_of(uses.reads.begin(), uses.reads.end(), [&](const FileRead& read) {
      return read.path == written.path && MayShare(read, written);
    });
    if (!IsFile(written.path) || is_read_first) continue;
    AMP_ASSIGN_OR_RETURN(const UniqueFile dir, OpenDirectoryOf(fs, written.path));
    struct stat info = {};
    if (fs.StatTarget(dir.get(), SplitPath(written.path).name, &info) != 0) continue;
    AMP_RETURN_IF_ERROR(CheckReplaceable(fs, dir.get(), written.path, info, {written.kind, uses.force}));
  }
  return absl::OkStatus();
}

}  // namespace amp
