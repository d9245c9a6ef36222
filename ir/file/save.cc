#include "ir/file/save.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_format.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "ir/base/atomic_file.h"
#include "ir/base/content_hash.h"
#include "ir/base/replace_files.h"
#include "ir/base/status.h"
#include "ir/file/data_files.h"
#include "ir/file/external_data.h"
#include "ir/file/model_walk.h"
#include "ir/file/payload_marker.h"
#include "ir/file/prescan.h"
#include "ir/file/save_payload.h"
#include "ir/file/validate.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

std::set<std::string> ReferencesOf(const onnx::ModelProto& model) {
  std::set<std::string> names;
  ForEachTensor(model, [&](const onnx::TensorProto& tensor) {
    if (!IsExternal(tensor)) return;
    if (auto reference = ParseExternalReference(tensor); reference.ok()) names.insert(reference->location);
  });
  return names;
}

// Appends to a file, and hashes what it appends.
class HashedFile {
 public:
  explicit HashedFile(AtomicFile& file) : file_(file) {}
  absl::Status Append(absl::string_view bytes) {
    hash_.Add(bytes);
    return file_.Append(bytes);
  }
  std::string Hash() const { return hash_.Text(); }

 private:
  AtomicFile& file_;
  ContentHash hash_;
};

class Saver : public PreparedSave {
 public:
  Saver(const std::string& path, const SaveOptions& options)
      : path_(path), parts_(SplitPath(path)), options_(options), fs_(*options.fs) {}

  // Opens the directory, refuses what must not be overwritten, sweeps leftovers.
  absl::Status Begin() {
    AMP_ASSIGN_OR_RETURN(dir_, OpenDirectoryOf(fs_, path_));
    struct stat info = {};
    if (fs_.StatTarget(dir_.get(), parts_.name, &info) == 0) {
      AMP_RETURN_IF_ERROR(InFile(path_, CheckIdentity(info)));
      const NewContent content{FileKind::kModel, options_.force || IsInput(info)};
      AMP_RETURN_IF_ERROR(CheckReplaceable(fs_, dir_.get(), path_, info, content));
      mode_ = info.st_mode & 0777;
    }
    SweepTemporaries(fs_, dir_.get(), parts_.name);
    return absl::OkStatus();
  }

  absl::Status WriteData(const PayloadLayout& layout) {
    if (layout.data_bytes == 0) return absl::OkStatus();
    AMP_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(fs_, dir_.get(), path_, mode_));
    AMP_RETURN_IF_ERROR(file.Reserve(layout.data_bytes));
    ContentHash hash;
    const auto append = [&](absl::string_view bytes) {
      hash.Add(bytes);
      AMP_RETURN_IF_ERROR(TellProgress(file.size(), layout.data_bytes));
      return file.Append(bytes);
    };
    for (const Payload& payload : layout.payloads) {
      if (!payload.external || !payload.first) continue;
      AMP_RETURN_IF_ERROR(append(std::string(static_cast<size_t>(payload.offset - file.size()), '\0')));
      AMP_RETURN_IF_ERROR(StreamPayload(payload, append));
    }
    if (file.size() != layout.data_bytes) return absl::InternalError("the data file has not the size that was planned");
    AMP_RETURN_IF_ERROR(file.Finish());
    result_.data_bytes = layout.data_bytes;
    result_.data_file = absl::StrCat(parts_.name, ".", hash.Text(), ".data");
    AMP_RETURN_IF_ERROR(CheckDataTarget(hash.Value()));
    data_.emplace(std::move(file));
    return absl::OkStatus();
  }

  // REQUIRES: WriteData, for the name.
  absl::Status WriteModel(onnx::ModelProto& model, const PayloadLayout& layout) {
    StrippedTensors stripped;
    const PayloadMarker marker;
    std::vector<const Payload*> spliced;
    for (const Payload& payload : layout.payloads) {
      stripped.Strip(payload.tensor);
      if (payload.external) {
        PointToData(payload);
      } else if (payload.size_bytes >= kSplicedBytes) {
        payload.tensor->set_raw_data(marker.Text(static_cast<int>(spliced.size())));
        spliced.push_back(&payload);
      } else {
        std::string* raw = payload.tensor->mutable_raw_data();
        AMP_RETURN_IF_ERROR(StreamPayload(payload, [&](absl::string_view bytes) {
          raw->append(bytes.data(), bytes.size());
          return absl::OkStatus();
        }));
      }
    }
    const absl::StatusOr<std::string> skeleton = SerializeModel(model);
    if (!skeleton.ok()) return InFile(path_, skeleton.status());
    AMP_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(fs_, dir_.get(), path_, mode_));
    AMP_RETURN_IF_ERROR(WriteSpliced(*skeleton, marker, spliced, &file));
    return Finish(std::move(file));
  }

  absl::Status WriteVerbatim(const LoadedFile& input) {
    AMP_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(fs_, dir_.get(), path_, mode_));
    AMP_RETURN_IF_ERROR(file.Reserve(input.original->size_bytes));
    HashedFile hashed(file);
    AMP_RETURN_IF_ERROR(input.CopyOriginal([&](absl::string_view bytes) { return hashed.Append(bytes); }));
    model_hash_ = hashed.Hash();
    return Finish(std::move(file));
  }

  std::string ModelHash() const override { return model_hash_; }

  std::vector<std::string> Notes() override {
    JudgeOldData();
    return old_data_.notes;
  }

  absl::StatusOr<SaveResult> Commit(std::vector<FinishedFile> companions) override {
    AMP_ASSIGN_OR_RETURN(const UniqueFile lock, LockDirectory(fs_, dir_.get(), path_));
    JudgeOldData();  // as it is now: another run may have written the same output meanwhile
    result_.notes = old_data_.notes;
    std::vector<Replacement> replacements;
    struct stat there = {};
    const bool has_data = data_ && fs_.StatPath(dir_.get(), result_.data_file, &there) == 0;  // CheckDataTarget: equal
    if (data_ && !has_data) replacements.push_back({&*data_, result_.data_file});
    for (FinishedFile& companion : companions) replacements.push_back({&companion.file, companion.target});
    replacements.push_back({&*model_, parts_.name});
    const SignalsWait signals_wait;
    AMP_RETURN_IF_ERROR(ReplaceFiles(fs_, replacements));
    for (const std::string& name : old_data_.to_remove) {
      const int error = fs_.Unlink(dir_.get(), name);
      if (error < 0 && error != -ENOENT) {
        result_.notes.push_back(
            absl::StrCat("'", Escaped(name), "' is left; it cannot be removed: ", ErrnoText(error)));
      }
    }
    return std::move(result_);
  }

  bool SameDirectoryAs(int directory) {
    struct stat here = {}, there = {};
    return fs_.Stat(dir_.get(), &here) == 0 && fs_.Stat(directory, &there) == 0 && here.st_dev == there.st_dev &&
           here.st_ino == there.st_ino;
  }

 private:
  absl::Status TellProgress(int64_t done, int64_t total) const {
    return options_.on_progress ? options_.on_progress(done, total) : absl::OkStatus();
  }

  bool IsInput(const struct stat& info) const {
    return options_.input != nullptr && options_.input->original != nullptr && info.st_dev == options_.input->device &&
           info.st_ino == options_.input->inode;
  }

  absl::Status CheckIdentity(const struct stat& info) {
    if (options_.input == nullptr) return absl::OkStatus();
    if (IsInput(info) && !options_.in_place) return RefusedError("the output is the input; expected --in-place");
    if (options_.input->external == nullptr) return absl::OkStatus();
    for (const auto& [location, file] : options_.input->external->files()) {
      struct stat data = {};
      if (fs_.Stat(file->file.get(), &data) == 0 && data.st_dev == info.st_dev && data.st_ino == info.st_ino) {
        return RefusedError("the output is the input's external data '", Escaped(location), "'");
      }
    }
    return absl::OkStatus();
  }

  // The name says what is in the file, and an equal one stays; anything else of that name is not ours.
  absl::Status CheckDataTarget(uint64_t hash) {
    struct stat info = {};
    if (fs_.StatPath(dir_.get(), result_.data_file, &info) != 0) return absl::OkStatus();
    if (S_ISREG(info.st_mode) && info.st_size == result_.data_bytes) {
      AMP_ASSIGN_OR_RETURN(const uint64_t found, HashOf(result_.data_file, info.st_size));
      if (found == hash) return absl::OkStatus();
    }
    return InFile(path_, RefusedError("the data file '", Escaped(result_.data_file), "' is in the way: expected ",
                                      result_.data_bytes, " bytes with that hash, found something else"));
  }

  absl::StatusOr<uint64_t> HashOf(const std::string& name, int64_t size) {
    const UniqueFile file(fs_, fs_.Open(dir_.get(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    if (!file.ok()) return InFile(path_, IoError("cannot open '", Escaped(name), "': ", ErrnoText(file.get())));
    ContentHash hash;
    std::vector<char> buffer(static_cast<size_t>(TensorView::kChunkBytes));
    for (int64_t at = 0; at < size;) {
      const auto count = static_cast<size_t>(std::min(size - at, TensorView::kChunkBytes));
      AMP_RETURN_IF_ERROR(InFile(path_, ReadFully(fs_, file.get(), at, absl::MakeSpan(buffer.data(), count))));
      hash.Add({buffer.data(), count});
      at += static_cast<int64_t>(count);
    }
    return hash.Value();
  }

  // Reads the model that is to be replaced, and looks at its folder, only if it has changed since the last time.
  void JudgeOldData() {
    struct stat there = {};
    if (fs_.StatTarget(dir_.get(), parts_.name, &there) != 0) there = {};
    const auto version = [](const struct stat& file) {
      return std::tuple(file.st_dev, file.st_ino, file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
    };
    if (has_judged_ && version(there) == version(judged_)) return;
    has_judged_ = true;
    judged_ = there;
    ReadOptions read;
    read.limits = options_.limits;
    read.payloads = Payloads::kLeaveOut;
    read.fs = options_.fs;
    // Anything may be in the way of the output; what is no model refers to nothing.
    const absl::StatusOr<LoadedFile> old = ReadModelFile(path_, read);
    std::set<std::string> references;
    if (old.ok()) references = ReferencesOf(*old->model);
    if (references == old_references_) return;
    old_references_ = references;
    old_data_ = {};
    if (!old.ok()) return;
    ReplacedModel replaced;
    replaced.name = parts_.name;
    replaced.old_references = std::move(references);
    replaced.new_references = new_references_;
    const bool is_input = options_.input != nullptr && options_.input->original != nullptr &&
                          old->device == options_.input->device && old->inode == options_.input->inode;
    if (options_.input != nullptr && !is_input) replaced.input = options_.input->external.get();
    old_data_ = JudgeOldDataFiles(fs_, dir_.get(), replaced);
  }

  void PointToData(const Payload& payload) {
    payload.tensor->set_data_location(onnx::TensorProto::EXTERNAL);
    const auto add = [&](const char* key, std::string value) {
      auto* entry = payload.tensor->add_external_data();
      entry->set_key(key);
      entry->set_value(std::move(value));
    };
    add("location", result_.data_file);
    add("offset", absl::StrCat(payload.offset));
    add("length", absl::StrCat(payload.size_bytes));
  }

  absl::Status WriteSpliced(const std::string& skeleton, const PayloadMarker& marker,
                            const std::vector<const Payload*>& spliced, AtomicFile* file) {
    std::vector<const Payload*> in_order;
    const auto replace = [&](const RawData& raw) -> std::optional<int64_t> {
      const absl::string_view text(skeleton.data() + raw.offset, static_cast<size_t>(raw.length));
      const int index = marker.Find(text, static_cast<int>(spliced.size()));
      if (index < 0) return std::nullopt;
      in_order.push_back(spliced[static_cast<size_t>(index)]);
      return in_order.back()->size_bytes;
    };
    Limits own = options_.limits;  // our own bytes: only their structure is of interest
    own.objects = own.nodes = own.initializers = own.functions = INT64_MAX;
    AMP_ASSIGN_OR_RETURN(const PrescanResult plan, Prescan(ByteSource::Memory(skeleton), own, replace));
    const int64_t max_bytes = std::min<int64_t>(options_.limits.model_bytes, INT32_MAX);
    if (plan.edited_size > max_bytes) {
      return InFile(
          path_, LimitError("expected at most ", max_bytes, " bytes without external data, found ", plan.edited_size));
    }
    AMP_RETURN_IF_ERROR(file->Reserve(plan.edited_size));
    HashedFile hashed(*file);
    const auto append = [&](absl::string_view bytes) {
      AMP_RETURN_IF_ERROR(TellProgress(file->size(), plan.edited_size));
      return hashed.Append(bytes);
    };
    const absl::string_view source = skeleton;
    int64_t at = 0;
    for (const WireEdit& edit : plan.edits) {
      AMP_RETURN_IF_ERROR(append(source.substr(static_cast<size_t>(at), static_cast<size_t>(edit.offset - at))));
      AMP_RETURN_IF_ERROR(edit.payload < 0 ? append(edit.prefix)
                                           : StreamPayload(*in_order[static_cast<size_t>(edit.payload)], append));
      at = edit.offset + edit.old_size;
    }
    AMP_RETURN_IF_ERROR(append(source.substr(static_cast<size_t>(at))));
    model_hash_ = hashed.Hash();
    return absl::OkStatus();
  }

  absl::Status Finish(AtomicFile file) {
    AMP_RETURN_IF_ERROR(file.Finish());
    AMP_RETURN_IF_ERROR(InFile(path_, CheckWritten(file.temporary_name())));
    result_.model_bytes = file.size();
    model_.emplace(std::move(file));
    return absl::OkStatus();
  }

  // Checks that the written model loads like any other, once the data file has its name.
  absl::Status CheckWritten(const std::string& name) {
    ReadOptions read;
    read.limits = options_.limits;
    read.payloads = Payloads::kLeaveOut;
    read.fs = options_.fs;
    absl::StatusOr<LoadedFile> written = ReadModelFile(parts_.directory + "/" + name, read);
    const absl::Status valid = written.ok() ? ValidateFile(*written, read.limits) : written.status();
    if (valid.code() == absl::StatusCode::kDataLoss) {
      return absl::InternalError(absl::StrCat("what was written is no valid model: ", valid.message()));
    }
    AMP_RETURN_IF_ERROR(valid);
    new_references_ = ReferencesOf(*written->model);
    const bool knows_data = !data_ || (new_references_.size() == 1 && new_references_.contains(result_.data_file));
    return knows_data ? absl::OkStatus()
                      : absl::InternalError("what was written does not refer to its data file alone");
  }

  const std::string path_;
  const PathParts parts_;
  const SaveOptions options_;
  FileSystem& fs_;
  UniqueFile dir_;
  mode_t mode_ = 0666;
  std::optional<AtomicFile> data_, model_;  // finished, under their temporary names
  std::set<std::string> new_references_, old_references_;
  OldDataFiles old_data_;    // of old_references_
  struct stat judged_ = {};  // the model that is to be replaced, when it was looked at
  bool has_judged_ = false;
  std::string model_hash_;
  SaveResult result_;
};

// Returns the data file if another model owns it. Such a file must not be shared: it is removed when that model is
// replaced.
std::string DataFileOfAnother(const LoadedFile& input, const std::string& name) {
  for (const auto& [location, file] : input.external->files()) {
    const absl::string_view owner = OwnerOfDataFile(location);
    if (!owner.empty() && owner != name) return location;
  }
  return "";
}

// Whether weights have to move between model and data file.
absl::StatusOr<bool> WantsOtherPlaces(const LoadedFile& input, const SaveOptions& options) {
  if (options.external_data == ExternalDataPolicy::kAuto) return false;
  AMP_ASSIGN_OR_RETURN(const PayloadLayout layout, LayOutPayloads(*input.model, input.weights(), options));
  return absl::c_any_of(layout.payloads,
                        [](const Payload& payload) { return payload.external != IsExternal(*payload.tensor); });
}

}  // namespace

absl::StatusOr<std::string> HashOriginal(const LoadedFile& input) {
  ContentHash hash;
  AMP_RETURN_IF_ERROR(input.CopyOriginal([&](absl::string_view bytes) {
    hash.Add(bytes);
    return absl::OkStatus();
  }));
  return hash.Text();
}

absl::StatusOr<std::string> SerializeModel(const onnx::ModelProto& model) {
  const size_t size = model.ByteSizeLong();
  if (size > INT32_MAX) {
    return LimitError("expected at most ", INT32_MAX, " bytes without external data, found ", size);
  }
  std::string bytes(size, '\0');
  google::protobuf::io::ArrayOutputStream array(bytes.data(), static_cast<int>(size));
  google::protobuf::io::CodedOutputStream stream(&array);
  stream.SetSerializationDeterministic(true);
  if (!model.SerializeToCodedStream(&stream)) return absl::InternalError("the model cannot be serialised");
  return bytes;
}

absl::StatusOr<std::unique_ptr<PreparedSave>> PrepareSave(onnx::ModelProto& model, const Weights& weights,
                                                          const std::string& path, const SaveOptions& options) {
  try {
    AMP_ASSIGN_OR_RETURN(const PayloadLayout layout, LayOutPayloads(model, weights, options));
    auto saver = std::make_unique<Saver>(path, options);
    AMP_RETURN_IF_ERROR(saver->Begin());
    AMP_RETURN_IF_ERROR(saver->WriteData(layout));
    AMP_RETURN_IF_ERROR(saver->WriteModel(model, layout));
    return saver;
  } catch (const std::bad_alloc&) {
    return InFile(path, LimitError("not enough memory to write it"));
  }
}

absl::StatusOr<std::unique_ptr<PreparedSave>> PrepareUnchanged(const LoadedFile& input, const std::string& path,
                                                               const SaveOptions& options) {
  SaveOptions with_input = options;
  with_input.input = &input;
  auto saver = std::make_unique<Saver>(path, with_input);
  AMP_RETURN_IF_ERROR(saver->Begin());
  const bool has_data = !input.external->files().empty();
  const bool found_there = saver->SameDirectoryAs(input.external->directory()) && !input.external->uses_hub_links();
  const std::string foreign = options.in_place ? "" : DataFileOfAnother(input, SplitPath(path).name);
  AMP_ASSIGN_OR_RETURN(const bool moves, WantsOtherPlaces(input, with_input));
  if ((has_data && !found_there) || !foreign.empty() || moves) {
    return PrepareSave(*input.model, input.weights(), path, with_input);
  }
  AMP_RETURN_IF_ERROR(saver->WriteVerbatim(input));
  return saver;
}

absl::StatusOr<SaveResult> SaveModel(onnx::ModelProto& model, const Weights& weights, const std::string& path,
                                     const SaveOptions& options) {
  AMP_ASSIGN_OR_RETURN(const std::unique_ptr<PreparedSave> prepared, PrepareSave(model, weights, path, options));
  return prepared->Commit();
}

absl::StatusOr<SaveResult> SaveUnchanged(const LoadedFile& input, const std::string& path, const SaveOptions& options) {
  AMP_ASSIGN_OR_RETURN(const std::unique_ptr<PreparedSave> prepared, PrepareUnchanged(input, path, options));
  return prepared->Commit();
}

}  // namespace amp
