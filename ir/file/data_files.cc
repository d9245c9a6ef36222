#include "ir/file/data_files.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "ir/base/atomic_file.h"
#include "ir/base/reason.h"
#include "ir/base/status.h"
#include "ir/file/external_data.h"
#include "ir/file/tensor_view.h"

namespace amp {
namespace {

constexpr int64_t kLargestModel = (int64_t{1} << 31) - 1;  // protobuf's limit: what is larger names nothing
constexpr int64_t kSearchedBytes = int64_t{1} << 31;       // of all files together

enum class Found { kNo, kYes, kUnknown };

// Whether the file's bytes have `text` in them, whatever its format is.
Found Search(FileSystem& fs, int file, int64_t size, const std::string& text) {
  constexpr size_t kChunk = size_t{1} << 20;
  std::string window;
  for (int64_t at = 0; at < size;) {
    const size_t kept = std::min(window.size(), text.size() - 1);
    window.erase(0, window.size() - kept);
    const size_t count = std::min(kChunk, static_cast<size_t>(size - at));
    window.resize(kept + count);
    if (!ReadFully(fs, file, at, absl::MakeSpan(window).subspan(kept)).ok()) return Found::kUnknown;
    if (::memmem(window.data(), window.size(), text.data(), text.size()) != nullptr) return Found::kYes;
    at += static_cast<int64_t>(count);
  }
  return Found::kNo;
}

class Judge {
 public:
  Judge(FileSystem& fs, int dir, const ReplacedModel& model) : fs_(fs), dir_(dir), model_(model) {}

  // Why the data file stays.
  Reason WhyLeft(const std::string& name) {
    if (OwnerOfDataFile(name) != model_.name) return "the model that was replaced used it";
    struct stat info = {};
    if (fs_.StatPath(dir_, name, &info) != 0 || !S_ISREG(info.st_mode)) return "it is no regular file";
    if (IsOfInput(info)) return "the input is read from it";
    if ((info.st_mode & 0222) == 0) return "it is read-only";
    return WhyNamed(name);
  }

 private:
  bool IsOfInput(const struct stat& info) const {
    if (model_.input == nullptr) return false;
    for (const auto& [location, file] : model_.input->files()) {
      struct stat input = {};
      if (fs_.Stat(file->file.get(), &input) == 0 && input.st_dev == info.st_dev && input.st_ino == info.st_ino) {
        return true;
      }
    }
    return false;
  }

  // Models of this folder, and those of the one above, may refer to a file of this one.
  Reason WhyNamed(const std::string& data_file) {
    int64_t left = kSearchedBytes;
    Reason why = WhyNamedIn(dir_, "", data_file, left);
    const UniqueFile above(fs_, fs_.Open(dir_, "..", O_RDONLY | O_DIRECTORY));
    if (!why && above.ok()) why = WhyNamedIn(above.get(), "../", data_file, left);
    return why;
  }

  Reason WhyNamedIn(int folder, absl::string_view prefix, const std::string& data_file, int64_t& left) {
    std::vector<std::string> names;
    if (fs_.List(folder, &names) < 0) return prefix.empty() ? "the folder cannot be listed" : Reason::None();
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      if (folder == dir_ ? IsOfTheModel(name) : !absl::StrContains(name, ".onnx")) continue;
      const UniqueFile file(fs_, fs_.Open(folder, name, O_RDONLY | O_NONBLOCK | O_NOCTTY));
      if (file.get() == -ENOENT || file.get() == -ELOOP || file.get() == -ENXIO) continue;  // gone, or no file
      const std::string shown = absl::StrCat("'", prefix, Escaped(name), "'");
      struct stat info = {};
      if (!file.ok() || fs_.Stat(file.get(), &info) != 0) return absl::StrCat(shown, " cannot be read");
      if (!S_ISREG(info.st_mode) || info.st_size > kLargestModel) continue;
      left -= info.st_size;
      if (left < 0) return "the folder holds too much to see whether another model uses it";
      const Found found = Search(fs_, file.get(), info.st_size, data_file);
      if (found == Found::kYes) return absl::StrCat(shown, " names it");
      if (found == Found::kUnknown) return absl::StrCat(shown, " cannot be read");
    }
    return Reason::None();
  }

  // The model that is replaced, a symbolic link to it, its temporaries; and data files, which name nothing.
  bool IsOfTheModel(const std::string& name) {
    if (name == model_.name || IsTemporaryOf(name, model_.name) || !OwnerOfDataFile(name).empty()) return true;
    struct stat entry = {}, target = {}, own = {};
    return fs_.StatPath(dir_, name, &entry) == 0 && S_ISLNK(entry.st_mode) &&
           fs_.StatTarget(dir_, name, &target) == 0 && fs_.StatPath(dir_, model_.name, &own) == 0 &&
           target.st_dev == own.st_dev && target.st_ino == own.st_ino;
  }

  FileSystem& fs_;
  const int dir_;
  const ReplacedModel& model_;
};

}  // namespace

absl::string_view OwnerOfDataFile(absl::string_view name) {
  constexpr size_t kDigits = 16;
  if (!absl::ConsumeSuffix(&name, ".data") || name.size() < kDigits + 2) return "";
  const absl::string_view digits = name.substr(name.size() - kDigits);
  const absl::string_view owner = name.substr(0, name.size() - kDigits);
  if (digits.find_first_not_of("0123456789abcdef") != absl::string_view::npos || owner.back() != '.') return "";
  return owner.substr(0, owner.size() - 1);
}

OldDataFiles JudgeOldDataFiles(FileSystem& fs, int dir, const ReplacedModel& model) {
  OldDataFiles files;
  Judge judge(fs, dir, model);
  for (const std::string& name : model.old_references) {
    if (model.new_references.contains(name)) continue;
    if (const Reason why = judge.WhyLeft(name)) {
      files.notes.push_back(absl::StrCat("'", Escaped(name), "' is left; ", why.sentence()));
    } else {
      files.to_remove.push_back(name);
    }
  }
  return files;
}

}  // namespace amp
