// The elements of a tensor, wherever they are: in raw_data, in a typed field, or in a region of a file. Nothing is
// copied to be looked at; a file is read a chunk at a time.
//
//   TensorView view = *TensorView::Of(tensor, external);
//   view.ForEachChunk([&](absl::Span<const std::byte> chunk) { ...; return absl::OkStatus(); });
//
// Elements come as ONNX's raw_data has them: little-endian, types below 8 bits packed. Typed fields with one int32 or
// uint64 per narrower element are squeezed on the way. A view of a message's field is valid as long as that message
// keeps the field's elements; a view of a file region owns its file. Copies are cheap. Safe for concurrent reading.
#ifndef AMP_IR_FILE_TENSOR_VIEW_H_
#define AMP_IR_FILE_TENSOR_VIEW_H_

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/base/dtype.h"
#include "ir/base/file_system.h"

namespace onnx {
class TensorProto;
}

namespace amp {

class ExternalData;

// The facts about a file that change when somebody writes to it.
struct FileVersion {
  int64_t size_bytes = 0, seconds = 0, nanoseconds = 0;

  static FileVersion Of(const struct stat& found) {
    return {found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
  }
  bool operator==(const FileVersion&) const = default;
};

// A file that is open for reading; closed with its last owner. `name` is for messages.
struct DataFile {
  UniqueFile file;
  FileSystem* fs = nullptr;
  int64_t size_bytes = 0;
  std::string name;
  FileVersion version = {};  // when it was opened
};

// Number of elements of `dims`, 1 for no dims; nullopt when negative or beyond 2^63 - 1.
std::optional<int64_t> ElementCount(absl::Span<const int64_t> dims);
// Bytes of that many elements in raw_data; nullopt for strings, unknown types and overflow.
std::optional<int64_t> RawBytes(DType dtype, int64_t num_elements);

class TensorView {
 public:
  inline static constexpr int64_t kChunkBytes = int64_t{1} << 20;
  using ChunkFn = std::function<absl::Status(absl::Span<const std::byte>)>;

  TensorView() = default;

  // REQUIRES: the tensor passed ValidateModel. `external` resolves tensors with external data and may be null if there
  // is none. Errors: kDataLoss for strings and for a payload of the wrong size; those of ExternalData.
  static absl::StatusOr<TensorView> Of(const onnx::TensorProto& tensor, ExternalData* external);
  // `num_elements` elements from `offset` of the file on.
  static absl::StatusOr<TensorView> OfFile(std::shared_ptr<const DataFile> file, int64_t offset, DType dtype,
                                           absl::Span<const int64_t> dims);

  DType dtype() const { return dtype_; }
  absl::Span<const int64_t> dims() const { return dims_; }
  int64_t num_elements() const { return num_elements_; }
  int64_t size_bytes() const { return size_bytes_; }

  // The file region behind the view; null and 0 when the elements are in memory.
  const DataFile* file() const { return file_.get(); }
  int64_t file_offset() const { return offset_; }

  // All bytes at once when they lie in memory in raw_data's form, else nullopt.
  std::optional<absl::Span<const std::byte>> InMemory() const;

  // Calls `fn` with consecutive chunks of at most kChunkBytes, each a whole number of elements. Stops at an error.
  absl::Status ForEachChunk(const ChunkFn& fn) const;
  absl::Status CopyTo(absl::Span<std::byte> out) const;  // REQUIRES: out.size() == size_bytes()

  // The values, for small tensors. Errors: kResourceExhausted above `max_elements`; kDataLoss for types that are no
  // number (complex, strings) or, for ReadAsInt64, no integer, or for uint64 values above 2^63 - 1.
  absl::StatusOr<std::vector<double>> ReadAsDoubles(int64_t max_elements) const;
  absl::StatusOr<std::vector<int64_t>> ReadAsInt64(int64_t max_elements) const;

 private:
  enum class Storage { kBytes, kInt32PerElement, kUint64PerUint32, kFile };

  absl::Status Describe(DType dtype, absl::Span<const int64_t> dims);
  absl::Status ReadFile(int64_t at, absl::Span<char> out) const;  // bytes of the region from `at` on
  absl::Status ReadFileChunks(const ChunkFn& fn) const;
  template <typename Wide, typename Narrow>
  absl::Status SqueezeChunks(const ChunkFn& fn) const;
  absl::Status SqueezeSixBits(const ChunkFn& fn) const;

  DType dtype_ = DType::kUndefined;
  Storage storage_ = Storage::kBytes;
  absl::InlinedVector<int64_t, 6> dims_;
  int64_t num_elements_ = 0, size_bytes_ = 0;
  const void* data_ = nullptr;
  std::shared_ptr<const DataFile> file_;
  int64_t offset_ = 0;
};

}  // namespace amp

#endif  // AMP_IR_FILE_TENSOR_VIEW_H_
