#include "tools/train/result_files.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ir/base/atomic_file.h"
#include "ir/base/status.h"

namespace amp {
namespace {

struct NamedPath {
  std::string flag, path;
};

constexpr char kKeyMark[] = ".npz:";

// FILE.npz:KEY without the key.
std::string WithoutKey(const std::string& path) {
  const size_t mark = path.find(kKeyMark);
  return mark == std::string::npos ? path : path.substr(0, mark + sizeof(kKeyMark) - 2);
}

std::vector<NamedPath> FilesRead(const TrainArguments& a) {
  std::vector<NamedPath> files = {{"the step graph", a.model}, {"--forward", a.forward}, {"--resume", a.resume}};
  for (const auto& [name, path] : a.data) files.push_back({"--data", WithoutKey(path)});
  for (const auto& [name, path] : a.eval_data) files.push_back({"--eval-data", WithoutKey(path)});
  return files;
}

bool IsSameFile(const std::string& a, const std::string& b) {
  std::error_code none;
  if (std::filesystem::equivalent(a, b, none)) return true;
  const auto full = [](const std::string& path) {
    std::error_code ignored;
    return std::filesystem::weakly_canonical(path, ignored);
  };
  return full(a) == full(b);
}

// What is there in the place of a file; "" for a file, or nothing.
std::string FindOtherThan(const std::string& path) {
  std::error_code none;
  switch (std::filesystem::status(path, none).type()) {
    case std::filesystem::file_type::directory:
      return "a folder";
    case std::filesystem::file_type::block:
    case std::filesystem::file_type::character:
      return "a device";
    case std::filesystem::file_type::fifo:
      return "a pipe";
    case std::filesystem::file_type::socket:
      return "a socket";
    default:
      return "";
  }
}

// By a temporary file of one byte beside it, as saving has one, which goes again: a disk may be full.
absl::Status CheckWritable(const NamedPath& result) {
  const std::string place = absl::StrCat(Escaped(result.path), ": ", result.flag, ": expected a file");
  if (const std::string other = FindOtherThan(result.path); !other.empty()) return IoError(place, ", found ", other);
  const absl::Status status = PrepareFile(result.path, [](AtomicFile& file) { return file.Append("\n"); }).status();
  if (status.ok()) return absl::OkStatus();
  absl::string_view reason = status.message();
  absl::ConsumePrefix(&reason, absl::StrCat(Escaped(result.path), ": "));
  return absl::Status(status.code(), absl::StrCat(place, " that can be written: ", reason));
}

}  // namespace

absl::Status CheckResultFiles(const TrainArguments& arguments) {
  std::vector<NamedPath> taken = FilesRead(arguments);
  for (const NamedPath& result :
       {NamedPath{"--checkpoint", arguments.checkpoint}, NamedPath{"--save-weights", arguments.save_weights},
        NamedPath{"--log", arguments.log}}) {
    if (result.path.empty()) continue;
    for (const NamedPath& other : taken) {
      const bool goes_on = result.flag == "--checkpoint" && other.flag == "--resume";
      if (other.path.empty() || goes_on || !IsSameFile(result.path, other.path)) continue;
      return UsageError(result.flag, ": '", Escaped(result.path), "' is the file of ", other.flag,
                        ", which it would replace");
    }
    AMP_RETURN_IF_ERROR(CheckWritable(result));
    taken.push_back(result);
  }
  return absl::OkStatus();
}

}  // namespace amp
