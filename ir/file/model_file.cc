#include "ir/file/model_file.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream.h"
#include "ir/base/status.h"
#include "ir/file/model_walk.h"
#include "ir/file/payload_marker.h"
#include "ir/file/validate.h"
#include "ir/schema/opset_imports.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

constexpr int64_t kLargePayload = 65536;

// The source with the pre-scan's edits applied: payload k becomes marker k.
class EditedStream : public google::protobuf::io::ZeroCopyInputStream {
 public:
  EditedStream(const ByteSource& source, const std::vector<WireEdit>& edits, const PayloadMarker& marker)
      : source_(source), edits_(edits), marker_(marker) {}

  bool Next(const void** data, int* size) override {
    if (!status_.ok()) return false;
    if (backed_up_ > 0) {
      *data = current_.data() + (current_.size() - backed_up_);
      *size = static_cast<int>(backed_up_);
      delivered_ += static_cast<int64_t>(backed_up_);
      backed_up_ = 0;
      return true;
    }
    do {
      if (!Advance()) return false;
    } while (current_.empty());
    *data = current_.data();
    *size = static_cast<int>(current_.size());
    delivered_ += static_cast<int64_t>(current_.size());
    return true;
  }
  void BackUp(int count) override {
    backed_up_ = static_cast<size_t>(count);
    delivered_ -= count;
  }
  bool Skip(int count) override {
    const void* data = nullptr;
    int size = 0;
    while (count > 0) {
      if (!Next(&data, &size)) return false;
      if (size > count) BackUp(size - count);
      count -= std::min(size, count);
    }
    return true;
  }
  int64_t ByteCount() const override { return delivered_; }
  const absl::Status& status() const { return status_; }

 private:
  // Makes current_ the next stretch of bytes; it may be empty.
  bool Advance() {
    if (edit_ < edits_.size() && position_ == edits_[edit_].offset) {
      const WireEdit& edit = edits_[edit_++];
      replacement_ = edit.payload < 0 ? edit.prefix : marker_.Text(edit.payload);
      current_ = replacement_;
      position_ += edit.old_size;
      return true;
    }
    const int64_t end = edit_ < edits_.size() ? edits_[edit_].offset : source_.size;
    if (position_ == end) return false;
    const int64_t size = std::min<int64_t>(end - position_, static_cast<int64_t>(buffer_.size()));
    if (source_.fs == nullptr) {
      current_ = source_.memory.substr(static_cast<size_t>(position_), static_cast<size_t>(size));
    } else {
      const absl::Span<char> part = absl::MakeSpan(buffer_.data(), static_cast<size_t>(size));
      status_ = ReadFully(*source_.fs, source_.file, position_, part);
      if (!status_.ok()) return false;
      current_ = absl::string_view(part.data(), part.size());
    }
    position_ += size;
    return true;
  }

  const ByteSource& source_;
  const std::vector<WireEdit>& edits_;
  const PayloadMarker& marker_;
  size_t edit_ = 0, backed_up_ = 0;
  int64_t position_ = 0, delivered_ = 0;
  absl::string_view current_;
  std::string replacement_;
  absl::Status status_;
  std::vector<char> buffer_ = std::vector<char>(65536);
};

absl::Status ReadPayload(const ByteSource& source, const RawData& raw, std::string* into) {
  into->resize(static_cast<size_t>(raw.length));
  if (source.fs != nullptr) return ReadFully(*source.fs, source.file, raw.offset, absl::MakeSpan(*into));
  std::memcpy(into->data(), source.memory.data() + raw.offset, into->size());
  return absl::OkStatus();
}

// Puts the payloads where their markers are, or notes their sizes and where they are.
absl::Status RestorePayloads(const ByteSource& source, const PayloadMarker& marker, Payloads mode, LoadedFile* file) {
  absl::flat_hash_set<const onnx::TensorProto*> stay;
  if (mode == Payloads::kInFile) {
    for (const onnx::TensorProto& tensor : file->model->graph().initializer()) stay.insert(&tensor);
  }
  auto in_file = std::make_shared<PayloadsInFile>();
  in_file->file = file->original;
  absl::Status status;
  ForEachMutableTensor(*file->model, [&](onnx::TensorProto& tensor) {
    if (!tensor.has_raw_data() || !status.ok()) return;
    const int payload = marker.Find(tensor.raw_data(), static_cast<int>(file->counts.payloads.size()));
    if (payload < 0) return;
    const RawData& raw = file->counts.payloads[static_cast<size_t>(payload)];
    if (mode == Payloads::kRead || (mode == Payloads::kInFile && !stay.contains(&tensor))) {
      status = ReadPayload(source, raw, tensor.mutable_raw_data());
      return;
    }
    tensor.clear_raw_data();
    file->left_out[&tensor] = raw.length;
    in_file->offsets[&tensor] = raw.offset;
  });
  if (!in_file->offsets.empty() && mode == Payloads::kInFile) file->in_file = std::move(in_file);
  return status;
}

absl::Status Parse(const ByteSource& source, const Limits& limits, Payloads mode, LoadedFile* file) {
  const PayloadMarker marker;
  const auto replace = [](const RawData& raw) -> std::optional<int64_t> {
    return raw.length >= kLargePayload ? std::optional<int64_t>(PayloadMarker::kSize) : std::nullopt;
  };
  AMP_ASSIGN_OR_RETURN(file->counts, Prescan(source, limits, replace));
  file->arena = std::make_unique<google::protobuf::Arena>();
  file->model = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(file->arena.get());
  EditedStream stream(source, file->counts.edits, marker);
  const bool parsed = file->model->ParseFromZeroCopyStream(&stream);
  AMP_RETURN_IF_ERROR(stream.status());
  if (!parsed) return ModelError("not an ONNX model: malformed near byte ", stream.ByteCount());
  return RestorePayloads(source, marker, mode, file);
}

// protobuf allocates; memory that has run out is the file's doing, not a reason to die.
absl::Status ParseFenced(const ByteSource& source, const Limits& limits, Payloads mode, LoadedFile* file) {
  try {
    return Parse(source, limits, mode, file);
  } catch (const std::bad_alloc&) {
    return LimitError("the model: not enough memory to hold it");
  }
}

}  // namespace

absl::Status LoadedFile::CopyOriginal(absl::FunctionRef<absl::Status(absl::string_view)> sink) const {
  std::vector<char> buffer(static_cast<size_t>(TensorView::kChunkBytes));
  for (int64_t at = 0; at < original->size_bytes;) {
    const int64_t size = std::min(original->size_bytes - at, TensorView::kChunkBytes);
    const absl::Span<char> part = absl::MakeSpan(buffer.data(), static_cast<size_t>(size));
    AMP_RETURN_IF_ERROR(ReadFully(*original->fs, original->file.get(), at, part));
    AMP_RETURN_IF_ERROR(sink(absl::string_view(part.data(), part.size())));
    at += size;
  }
  return absl::OkStatus();
}

absl::StatusOr<LoadedFile> ReadModelFile(const std::string& path, const ReadOptions& options) {
  FileSystem& fs = *options.fs;
  LoadedFile file;
  file.path = path;
  auto original = std::make_shared<DataFile>();
  original->file = UniqueFile(fs, fs.Open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  original->fs = &fs;
  original->name = path;
  const int descriptor = original->file.get();
  if (descriptor < 0) return IoError("cannot open: ", ErrnoText(descriptor));
  struct stat before = {}, after = {};
  if (const int error = fs.Stat(descriptor, &before); error < 0) return IoError("cannot inspect: ", ErrnoText(error));
  if (!S_ISREG(before.st_mode)) return RefusedError("expected a regular file, found something else");
  original->size_bytes = before.st_size;
  original->version = FileVersion::Of(before);
  file.original = original;
  file.device = before.st_dev;
  file.inode = before.st_ino;
  AMP_RETURN_IF_ERROR(
      ParseFenced(ByteSource::File(fs, descriptor, before.st_size), options.limits, options.payloads, &file));
  if (const int error = fs.Stat(descriptor, &after); error < 0) return IoError("cannot inspect: ", ErrnoText(error));
  if (FileVersion::Of(after) != original->version) return IoError("file changed while it was read");
  AMP_ASSIGN_OR_RETURN(file.external, ExternalData::Open(path, fs));
  return file;
}

absl::StatusOr<LoadedFile> ParseModel(absl::string_view bytes, const Limits& limits) {
  LoadedFile file;
  AMP_RETURN_IF_ERROR(ParseFenced(ByteSource::Memory(bytes), limits, Payloads::kRead, &file));
  return file;
}

absl::Status ReadPayloadsInFile(LoadedFile& file) {
  if (file.in_file == nullptr) return absl::OkStatus();
  for (onnx::TensorProto& tensor : *file.model->mutable_graph()->mutable_initializer()) {
    const auto it = file.in_file->offsets.find(&tensor);
    if (it == file.in_file->offsets.end()) continue;
    AMP_ASSIGN_OR_RETURN(const TensorView view, file.weights().View(tensor));
    std::string payload(static_cast<size_t>(view.size_bytes()), '\0');
    AMP_RETURN_IF_ERROR(view.CopyTo({reinterpret_cast<std::byte*>(payload.data()), payload.size()}));
    tensor.set_raw_data(std::move(payload));
    file.left_out.erase(&tensor);
  }
  AMP_RETURN_IF_ERROR(file.in_file->CheckUnchanged());
  file.in_file = nullptr;
  return absl::OkStatus();
}

absl::Status ValidateFile(LoadedFile& file, const Limits& limits) {
  file.highest_opset_import = RepairOpsetImports(*file.model, &file.warnings);
  return ValidateModel(*file.model, limits, &file.warnings, &file.left_out);
}

absl::StatusOr<LoadedFile> LoadModel(const std::string& path, const ReadOptions& options) {
  AMP_ASSIGN_OR_RETURN(LoadedFile file, ReadModelFile(path, options));
  AMP_RETURN_IF_ERROR(ValidateFile(file, options.limits));
  AMP_RETURN_IF_ERROR(file.external->Check(*file.model, &file.warnings));
  return file;
}

}  // namespace amp
