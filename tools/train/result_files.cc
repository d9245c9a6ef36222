#include "tools/train/result_files.h"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

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

absl::Status CheckFolder(const NamedPath& result) {
  std::error_code none;
  if (std::filesystem::is_directory(result.path, none)) {
    return IoError(Escaped(result.path), ": ", result.flag, ": expected a file, found a folder");
  }
  std::filesystem::path folder = std::filesystem::path(result.path).parent_path();
  if (folder.empty()) folder = ".";
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
  return IoError(Escaped(result.path), ": ", result.flag, ": its folder is not there, or not writable");
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
    AMP_RETURN_IF_ERROR(CheckFolder(result));
    taken.push_back(result);
  }
  return absl::OkStatus();
}

}  // namespace amp
