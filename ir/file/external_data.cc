#include "ir/file/external_data.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdlib>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ir/base/status.h"
#include "ir/file/model_walk.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

// Digits only, no sign, no leading zero, below 2^63.
absl::StatusOr<int64_t> ParseDecimal(absl::string_view key, absl::string_view text) {
  bool digits = !text.empty() && text.size() <= 19 && (text.size() == 1 || text[0] != '0');
  for (char c : text) digits = digits && c >= '0' && c <= '9';
  int64_t value = 0;
  if (!digits || !absl::SimpleAtoi(text, &value)) {
    return ModelError("external data ", key, ": expected a decimal number, found '", Escaped(text), "'");
  }
  return value;
}

// "./a//b" -> "a/b". Errors: kPermissionDenied for what could leave the directory.
absl::StatusOr<std::string> NormaliseLocation(absl::string_view location) {
  const auto refuse = [&](absl::string_view why) {
    return RefusedError("external data location '", Escaped(location), "' ", why);
  };
  if (location.empty()) return ModelError("external data location: expected a file name, found nothing");
  if (location[0] == '/') return refuse("is an absolute path; expected one relative to the model");
  if (location.find('\\') != absl::string_view::npos) return refuse("has a backslash");
  if (location.find('\0') != absl::string_view::npos) return refuse("has a zero byte");
  const bool drive =
      location.size() >= 2 && location[1] == ':' && absl::ascii_isalpha(static_cast<unsigned char>(location[0]));
  if (drive) return refuse("names a drive");
  std::vector<absl::string_view> kept;
  for (absl::string_view part : absl::StrSplit(location, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      kept.push_back(part);
    } else if (kept.empty()) {
      return refuse("leaves the model's directory");
    } else {
      kept.pop_back();
    }
  }
  if (kept.empty() || location.back() == '/') return refuse("names no file");
  return absl::StrJoin(kept, "/");
}

// realpath(3), or "" when there is none.
std::string RealPath(const std::string& path) {
  char* resolved = ::realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return "";
  std::string result = resolved;
  std::free(resolved);
  return result;
}

std::string Join(const std::string& directory, const std::string& name) {
  return directory == "/" ? "/" + name : directory + "/" + name;
}

}  // namespace

bool IsExternal(const onnx::TensorProto& tensor) { return tensor.data_location() == onnx::TensorProto::EXTERNAL; }

absl::StatusOr<ExternalReference> ParseExternalReference(const onnx::TensorProto& tensor,
                                                         std::vector<std::string>* unknown_keys) {
  ExternalReference reference;
  std::set<absl::string_view> seen;
  for (const auto& entry : tensor.external_data()) {
    if (!seen.insert(entry.key()).second) {
      return ModelError("external data key '", Escaped(entry.key()), "' is given twice");
    }
    if (entry.key() == "location") {
      AMP_ASSIGN_OR_RETURN(reference.location, NormaliseLocation(entry.value()));
    } else if (entry.key() == "offset") {
      AMP_ASSIGN_OR_RETURN(reference.offset, ParseDecimal("offset", entry.value()));
    } else if (entry.key() == "length") {
      AMP_ASSIGN_OR_RETURN(reference.length, ParseDecimal("length", entry.value()));
    } else if (entry.key() != "checksum" && unknown_keys != nullptr) {
      unknown_keys->push_back(entry.key());
    }
  }
  if (reference.location.empty()) return ModelError("external data: expected a location, found none");
  return reference;
}

absl::StatusOr<std::shared_ptr<ExternalData>> ExternalData::Open(const std::string& model_path, FileSystem& fs) {
  std::shared_ptr<ExternalData> data(new ExternalData);
  data->fs_ = &fs;
  const PathParts parts = SplitPath(model_path);
  data->directory_path_ = parts.directory;
  data->directory_ = UniqueFile(fs, fs.Open(AT_FDCWD, parts.directory, O_RDONLY | O_DIRECTORY));
  if (!data->directory_.ok()) {
    return IoError("cannot open the model's directory: ", ErrnoText(data->directory_.get()));
  }
  struct stat info = {};
  if (fs.StatPath(data->directory_.get(), parts.name, &info) == 0 && S_ISLNK(info.st_mode)) {
    data->model_is_link_ = true;
    data->real_directory_path_ = SplitPath(RealPath(model_path)).directory;
    data->real_directory_ = UniqueFile(fs, fs.Open(AT_FDCWD, data->real_directory_path_, O_RDONLY | O_DIRECTORY));
  }
  return data;
}

// Opens a path as openat2 does, by hand: no component may be a symbolic link.
int ExternalData::WalkComponents(const std::string& location) {
  const std::vector<std::string> parts = absl::StrSplit(location, '/');
  UniqueFile at;
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool last = i + 1 == parts.size();
    const int flags = O_RDONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | (last ? 0 : O_DIRECTORY);
    const int next = fs_->Open(i == 0 ? directory_.get() : at.get(), parts[i], flags);
    if (next < 0) return next == -ENOTDIR && !last ? -ELOOP : next;
    at = UniqueFile(*fs_, next);
  }
  return at.Release();
}

// A hub cache: model and data are links into one folder. Safe whatever the link says by now, for only a regular file
// directly in the folder of the model itself is opened.
int ExternalData::OpenHubBlob(const std::string& location) {
  if (!model_is_link_ || !real_directory_.ok()) return -EXDEV;
  struct stat info = {};
  if (fs_->StatPath(directory_.get(), location, &info) != 0 || !S_ISLNK(info.st_mode)) return -EXDEV;
  const PathParts target = SplitPath(RealPath(Join(directory_path_, location)));
  if (target.name.empty() || target.directory != real_directory_path_) return -EXDEV;
  uses_hub_links_ = true;
  return fs_->Open(real_directory_.get(), target.name, O_RDONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
}

absl::StatusOr<UniqueFile> ExternalData::OpenConfined(const std::string& location) {
  int file = fs_->OpenBeneath(directory_.get(), location);
  if (file == -ENOSYS || file == -EPERM) file = WalkComponents(location);
  if (file == -EXDEV || file == -ELOOP) file = OpenHubBlob(location);
  if (file == -EXDEV || file == -ELOOP) {
    return RefusedError("external data '", Escaped(location), "' is a symbolic link that leaves the model's directory");
  }
  if (file == -ENXIO) return RefusedError("external data '", Escaped(location), "' is not a regular file");
  if (file < 0) return IoError("cannot open external data '", Escaped(location), "': ", ErrnoText(file));
  return UniqueFile(*fs_, file);
}

absl::StatusOr<std::shared_ptr<const DataFile>> ExternalData::OpenLocation(const std::string& location) {
  if (auto it = files_.find(location); it != files_.end()) return it->second;
  AMP_ASSIGN_OR_RETURN(UniqueFile file, OpenConfined(location));
  struct stat info = {};
  if (const int error = fs_->Stat(file.get(), &info); error < 0) {
    return IoError("cannot inspect external data '", Escaped(location), "': ", ErrnoText(error));
  }
  if (!S_ISREG(info.st_mode)) return RefusedError("external data '", Escaped(location), "' is not a regular file");
  auto data = std::make_shared<DataFile>();
  data->file = std::move(file);
  data->fs = fs_;
  data->size_bytes = info.st_size;
  data->name = location;
  return files_[location] = std::move(data);
}

absl::StatusOr<TensorView> ExternalData::View(const onnx::TensorProto& tensor) {
  AMP_ASSIGN_OR_RETURN(const ExternalReference reference, ParseExternalReference(tensor));
  AMP_ASSIGN_OR_RETURN(std::shared_ptr<const DataFile> file, OpenLocation(reference.location));
  AMP_ASSIGN_OR_RETURN(TensorView view, TensorView::OfFile(std::move(file), reference.offset,
                                                           static_cast<DType>(tensor.data_type()), tensor.dims()));
  if (reference.length >= 0 && reference.length != view.size_bytes()) {
    return ModelError("external data length: expected ", view.size_bytes(), " bytes for its shape and type, found ",
                      reference.length);
  }
  return view;
}

absl::Status ExternalData::Check(const onnx::ModelProto& model, std::vector<std::string>* warnings) {
  std::set<std::string> unknown_keys, linked;
  absl::Status status;
  ForEachTensor(model, [&](const onnx::TensorProto& tensor) {
    if (!status.ok() || !IsExternal(tensor)) return;
    absl::StatusOr<TensorView> view = View(tensor);
    if (!view.ok()) {
      status = absl::Status(view.status().code(),
                            absl::StrCat("tensor '", Escaped(tensor.name()), "': ", view.status().message()));
      return;
    }
    std::vector<std::string> unknown;
    (void)ParseExternalReference(tensor, &unknown);
    unknown_keys.insert(unknown.begin(), unknown.end());
  });
  AMP_RETURN_IF_ERROR(status);
  for (const auto& [location, file] : files_) {
    struct stat info = {};
    if (fs_->Stat(file->file.get(), &info) == 0 && info.st_nlink > 1) linked.insert(location);
  }
  for (const auto& key : unknown_keys) {
    warnings->push_back(absl::StrCat("external data key '", Escaped(key), "' is unknown and ignored"));
  }
  for (const auto& name : linked) {
    warnings->push_back(absl::StrCat("external data '", Escaped(name), "' is a file with several hard links"));
  }
  return absl::OkStatus();
}

absl::Status EmbedSmallTensors(onnx::ModelProto& model, ExternalData& external) {
  absl::Status status;
  ForEachMutableTensor(model, [&](onnx::TensorProto& tensor) {
    if (!status.ok() || !IsExternal(tensor)) return;
    const absl::StatusOr<TensorView> view = external.View(tensor);
    status = view.status();
    if (!status.ok() || view->size_bytes() >= kSmallTensorBytes) return;
    std::string bytes(static_cast<size_t>(view->size_bytes()), '\0');
    status = view->CopyTo(absl::MakeSpan(reinterpret_cast<std::byte*>(bytes.data()), bytes.size()));
    tensor.set_raw_data(std::move(bytes));
    tensor.clear_external_data();
    tensor.clear_data_location();
  });
  return status;
}

}  // namespace amp
