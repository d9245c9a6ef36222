#include "ir/file/weights.h"

#include "ir/base/status.h"
#include "ir/file/external_data.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

// Edits give a tensor a payload of its own.
bool HasPayload(const onnx::TensorProto& tensor) {
  return tensor.has_raw_data() || IsExternal(tensor) || tensor.float_data_size() > 0 || tensor.int32_data_size() > 0 ||
         tensor.int64_data_size() > 0 || tensor.double_data_size() > 0 || tensor.uint64_data_size() > 0;
}

}  // namespace

absl::Status PayloadsInFile::CheckUnchanged() const {
  struct stat now = {};
  if (const int error = file->fs->Stat(file->file.get(), &now); error < 0) {
    return IoError("cannot inspect: ", ErrnoText(error));
  }
  return file->version == FileVersion::Of(now) ? absl::OkStatus() : IoError("file changed while it was read");
}

absl::StatusOr<TensorView> Weights::View(const onnx::TensorProto& tensor) const {
  if (in_file_ != nullptr && !HasPayload(tensor)) {
    const auto it = in_file_->offsets.find(&tensor);
    if (it != in_file_->offsets.end()) {
      return TensorView::OfFile(in_file_->file, it->second, static_cast<DType>(tensor.data_type()), tensor.dims());
    }
  }
  return TensorView::Of(tensor, external_.get());
}

}  // namespace amp
