#include "tools/data/data_file.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "ir/base/status.h"
#include "runtime/values/npy.h"
#include "tools/data/read_idx.h"
#include "tools/program/read_whole_file.h"

namespace amp {
namespace {

constexpr absl::string_view kArchiveEnding = ".npz";
constexpr char kKeyMark[] = ".npz:";

// The array of that name, or without a name the only one.
absl::StatusOr<std::vector<bool>> ChooseArray(const std::string& key, const std::vector<std::string>& names) {
  std::vector<bool> is_wanted(names.size(), false);
  const auto it = key.empty() ? names.begin() : std::find(names.begin(), names.end(), key);
  const bool is_found = it != names.end() && (!key.empty() || names.size() == 1);
  if (is_found) {
    is_wanted[static_cast<size_t>(it - names.begin())] = true;
    return is_wanted;
  }
  std::vector<std::string> shown;
  shown.reserve(names.size());
  for (const std::string& name : names) shown.push_back(Escaped(name));
  if (key.empty()) return UsageError("expected FILE.npz:KEY, KEY one of ", FirstOf(shown));
  return UsageError("expected an array '", Escaped(key), "', found ", FirstOf(shown));
}

absl::StatusOr<Tensor> ReadFromArchive(const std::string& path, const std::string& key) {
  AMP_ASSIGN_OR_RETURN(NamedTensors arrays,
                       ReadNpz(path, [&](const std::vector<std::string>& names) { return ChooseArray(key, names); }));
  return std::move(arrays[0].second);
}

absl::StatusOr<Tensor> ReadArray(const std::string& path) {
  AMP_ASSIGN_OR_RETURN(std::string bytes, ReadWholeFile(path));
  if (IsGzip(bytes)) {
    AMP_ASSIGN_OR_RETURN(bytes, Gunzip(bytes));
  }
  if (IsIdx(bytes)) return ParseIdx(bytes);
  if (absl::StartsWith(bytes, "\x93NUMPY")) return ParseNpy(bytes);
  return UsageError("expected an IDX file, plain or in gzip, or .npy, .npz:KEY; found other bytes");
}

// Where the path of FILE.npz:KEY ends.
size_t EndOfPath(const std::string& file) {
  const size_t mark = file.rfind(kKeyMark);
  return mark == std::string::npos ? file.size() : mark + kArchiveEnding.size();
}

}  // namespace

std::string PathOfDataFile(const std::string& file) { return file.substr(0, EndOfPath(file)); }

absl::StatusOr<Tensor> ReadDataFile(const std::string& file) {
  const size_t end = EndOfPath(file);
  const std::string path = file.substr(0, end), key = end < file.size() ? file.substr(end + 1) : "";
  absl::StatusOr<Tensor> tensor = absl::EndsWith(path, kArchiveEnding) ? ReadFromArchive(path, key) : ReadArray(path);
  if (!tensor.ok()) return InFile(Escaped(path), tensor.status());
  if (tensor->rank() == 0)
    return InFile(Escaped(path), UsageError("expected one sample or more, found ", tensor->TypeText()));
  return tensor;
}

}  // namespace amp
