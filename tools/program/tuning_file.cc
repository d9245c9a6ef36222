#include "tools/program/tuning_file.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "ir/base/atomic_file.h"
#include "ir/base/status.h"
#include "passes/record/metadata_json.h"

namespace amp {
namespace {

using Json = nlohmann::json;
constexpr int kSchema = 1;

}  // namespace

TuningFile::TuningFile(std::string path)
    : path_(std::move(path)),
      choices_({.self = this,
                .find = [](void* self, const char* key, void* value, size_t size) -> size_t {
                  auto& file = *static_cast<TuningFile*>(self);
                  const absl::MutexLock lock(&file.mutex_);
                  const auto it = file.known_.find(key);
                  if (it == file.known_.end()) return 0;
                  std::memcpy(value, it->second.data(), std::min(size, it->second.size()));
                  return it->second.size();
                },
                .keep =
                    [](void* self, const char* key, const void* value, size_t size) {
                      auto& file = *static_cast<TuningFile*>(self);
                      const absl::MutexLock lock(&file.mutex_);
                      const std::string bytes(static_cast<const char*>(value), size);
                      file.known_[key] = file.added_[key] = bytes;
                    },
                .refuse =
                    [](void* self, const char* key, const char* why) {
                      auto& file = *static_cast<TuningFile*>(self);
                      const absl::MutexLock lock(&file.mutex_);
                      file.known_.erase(key);
                      file.warnings_.push_back(absl::StrCat(Escaped(file.path_), ": the choice for '", Escaped(key),
                                                            "' is not used: ", Escaped(why)));
                    }}) {}

absl::StatusOr<TuningFile::Map> TuningFile::Read(const std::string& path) {
  std::error_code unknown;
  const std::filesystem::file_status status = std::filesystem::status(path, unknown);
  if (status.type() == std::filesystem::file_type::not_found) return Map();
  if (status.type() != std::filesystem::file_type::regular) {
    return InFile(Escaped(path), UsageError("expected a file that --autotune wrote, found none that is regular"));
  }
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) return InFile(Escaped(path), IoError("it cannot be read"));
  const absl::StatusOr<Json> json = ParseMetadataJson(text);
  const auto complain = [&] {
    return InFile(Escaped(path), UsageError("expected a file that --autotune wrote, of schema ", kSchema));
  };
  if (!json.ok() || !json->is_object() || json->value("schema", Json()) != kSchema || !json->contains("choices") ||
      !(*json)["choices"].is_object()) {
    return complain();
  }
  Map map;
  for (const auto& [key, value] : (*json)["choices"].items()) {
    if (!value.is_string() || !absl::Base64Unescape(value.get<std::string>(), &map[key])) return complain();
  }
  return map;
}

absl::StatusOr<std::unique_ptr<TuningFile>> TuningFile::Open(const std::string& path) {
  std::unique_ptr<TuningFile> file(new TuningFile(path));
  const absl::MutexLock lock(&file->mutex_);
  AMP_ASSIGN_OR_RETURN(file->known_, Read(path));
  return file;
}

size_t TuningFile::num_added() const {
  const absl::MutexLock lock(&mutex_);
  return added_.size();
}

std::vector<std::string> TuningFile::TakeWarnings() {
  const absl::MutexLock lock(&mutex_);
  return std::exchange(warnings_, {});
}

absl::Status TuningFile::Save() {
  const absl::MutexLock lock(&mutex_);
  if (added_.empty()) return absl::OkStatus();
  AMP_ASSIGN_OR_RETURN(Map all, Read(path_));
  for (const auto& [key, bytes] : added_) all[key] = bytes;
  Json choices = Json::object();
  for (const auto& [key, bytes] : all) choices[key] = absl::Base64Escape(bytes);
  const std::string text = Json({{"schema", kSchema}, {"choices", std::move(choices)}}).dump(1) + "\n";
  AMP_RETURN_IF_ERROR(
      WriteFileAtomically(path_, {FileKind::kJson}, [&](AtomicFile& file) { return file.Append(text); }));
  added_.clear();
  return absl::OkStatus();
}

}  // namespace amp
