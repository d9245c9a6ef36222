#include "ir/file/tensor_view.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/base/casts.h"
#include "ir/base/check.h"
#include "ir/base/minifloat.h"
#include "ir/base/status.h"
#include "ir/file/external_data.h"
#include "onnx/onnx_pb.h"

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian and used in place");

namespace amp {
namespace {

// A whole number of elements of every type: 6-bit ones come 4 to 3 bytes.
int64_t ChunkBytes(DType dtype) {
  return BitsPerElement(dtype) == 6 ? TensorView::kChunkBytes / 3 * 3 : TensorView::kChunkBytes;
}

absl::Span<const std::byte> Bytes(const void* data, int64_t size) {
  return absl::MakeConstSpan(static_cast<const std::byte*>(data), static_cast<size_t>(size));
}

// Element `index` of packed bytes whose elements have `bits` < 8 bits, or 8 or 16.
uint32_t PackedElement(const std::vector<std::byte>& bytes, int64_t index, int bits) {
  const int64_t first = index * bits;
  const size_t byte = static_cast<size_t>(first / 8);
  uint32_t word = std::to_integer<uint32_t>(bytes[byte]);
  if (byte + 1 < bytes.size()) word |= std::to_integer<uint32_t>(bytes[byte + 1]) << 8;
  return (word >> (first % 8)) & ((1u << bits) - 1);
}

template <typename T>
T ElementAt(const std::vector<std::byte>& bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + static_cast<size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

int64_t SignExtend(uint32_t value, int bits) {
  const uint32_t sign = 1u << (bits - 1);
  return static_cast<int64_t>(value & (sign - 1)) - static_cast<int64_t>(value & sign);
}

// nullopt: not an integer type, or a uint64 that does not fit.
std::optional<int64_t> IntegerAt(const std::vector<std::byte>& bytes, int64_t i, DType dtype) {
  switch (dtype) {
    case DType::kInt64:
      return ElementAt<int64_t>(bytes, i);
    case DType::kInt32:
      return ElementAt<int32_t>(bytes, i);
    case DType::kUint32:
      return ElementAt<uint32_t>(bytes, i);
    case DType::kInt16:
      return ElementAt<int16_t>(bytes, i);
    case DType::kUint16:
      return ElementAt<uint16_t>(bytes, i);
    case DType::kInt8:
      return ElementAt<int8_t>(bytes, i);
    case DType::kUint8:
      return ElementAt<uint8_t>(bytes, i);
    case DType::kBool:
      return ElementAt<uint8_t>(bytes, i) != 0 ? 1 : 0;
    case DType::kUint4:
      return PackedElement(bytes, i, 4);
    case DType::kInt4:
      return SignExtend(PackedElement(bytes, i, 4), 4);
    case DType::kUint2:
      return PackedElement(bytes, i, 2);
    case DType::kInt2:
      return SignExtend(PackedElement(bytes, i, 2), 2);
    case DType::kUint64: {
      const uint64_t value = ElementAt<uint64_t>(bytes, i);
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
      return static_cast<int64_t>(value);
    }
    default:
      return std::nullopt;
  }
}

std::optional<double> DoubleAt(const std::vector<std::byte>& bytes, int64_t i, DType dtype) {
  if (dtype == DType::kFloat32) return ElementAt<float>(bytes, i);
  if (dtype == DType::kFloat64) return ElementAt<double>(bytes, i);
  if (dtype == DType::kUint64) return static_cast<double>(ElementAt<uint64_t>(bytes, i));
  if (IsMinifloat(dtype)) {
    const int bits = BitsPerElement(dtype);
    return DecodeMinifloat(bits == 16 ? ElementAt<uint16_t>(bytes, i) : PackedElement(bytes, i, bits), dtype);
  }
  const std::optional<int64_t> integer = IntegerAt(bytes, i, dtype);
  return integer.has_value() ? std::optional<double>(static_cast<double>(*integer)) : std::nullopt;
}

}  // namespace

std::optional<int64_t> ElementCount(absl::Span<const int64_t> dims) {
  int64_t count = 1;
  bool empty = false;
  for (const int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) empty = true;
    if (dim != 0 && __builtin_mul_overflow(count, dim, &count)) return std::nullopt;
  }
  return empty ? 0 : count;
}

std::optional<int64_t> RawBytes(DType dtype, int64_t num_elements) {
  const int bits = BitsPerElement(dtype);
  int64_t total = 0;
  if (bits == 0 || num_elements < 0 || __builtin_mul_overflow(num_elements, int64_t{bits}, &total)) return std::nullopt;
  return total / 8 + (total % 8 != 0 ? 1 : 0);
}

absl::Status TensorView::Describe(DType dtype, absl::Span<const int64_t> dims) {
  const std::optional<int64_t> count = ElementCount(dims);
  if (!count.has_value()) return ModelError("expected dimensions whose product fits 63 bits, found others");
  const bool known = static_cast<int>(dtype) < kNumDTypes;
  const std::optional<int64_t> size = known ? RawBytes(dtype, *count) : std::nullopt;
  if (!size.has_value()) return ModelError("expected a tensor of numbers, found type ", static_cast<int>(dtype));
  dtype_ = dtype;
  dims_.assign(dims.begin(), dims.end());
  num_elements_ = *count;
  size_bytes_ = *size;
  return absl::OkStatus();
}

absl::StatusOr<TensorView> TensorView::OfFile(std::shared_ptr<const DataFile> file, int64_t offset, DType dtype,
                                              absl::Span<const int64_t> dims) {
  TensorView view;
  AMP_RETURN_IF_ERROR(view.Describe(dtype, dims));
  if (offset < 0 || view.size_bytes_ > file->size_bytes || offset > file->size_bytes - view.size_bytes_) {
    return ModelError("'", Escaped(file->name), "': expected ", view.size_bytes_, " bytes at offset ", offset,
                      ", found a file of ", file->size_bytes, " bytes");
  }
  view.storage_ = Storage::kFile;
  view.file_ = std::move(file);
  view.offset_ = offset;
  return view;
}

absl::StatusOr<TensorView> TensorView::Of(const onnx::TensorProto& tensor, ExternalData* external) {
  if (IsExternal(tensor)) {
    if (external == nullptr) return ModelError("expected embedded data, found external data");
    return external->View(tensor);
  }
  TensorView view;
  AMP_RETURN_IF_ERROR(view.Describe(static_cast<DType>(tensor.data_type()), tensor.dims()));
  int64_t found = 0, expected = view.num_elements_;
  if (tensor.has_raw_data()) {
    view.data_ = tensor.raw_data().data();
    found = static_cast<int64_t>(tensor.raw_data().size());
    expected = view.size_bytes_;
  } else {
    const auto use = [&](const auto& field, Storage storage) {
      view.data_ = field.data();
      view.storage_ = storage;
      found = field.size();
    };
    switch (view.dtype_) {
      case DType::kFloat32:
        use(tensor.float_data(), Storage::kBytes);
        break;
      case DType::kFloat64:
        use(tensor.double_data(), Storage::kBytes);
        break;
      case DType::kInt64:
        use(tensor.int64_data(), Storage::kBytes);
        break;
      case DType::kUint64:
        use(tensor.uint64_data(), Storage::kBytes);
        break;
      case DType::kInt32:
        use(tensor.int32_data(), Storage::kBytes);
        break;
      case DType::kUint32:
        use(tensor.uint64_data(), Storage::kUint64PerUint32);
        break;
      case DType::kComplex64:
        use(tensor.float_data(), Storage::kBytes);
        expected *= 2;
        break;
      case DType::kComplex128:
        use(tensor.double_data(), Storage::kBytes);
        expected *= 2;
        break;
      default:
        use(tensor.int32_data(), Storage::kInt32PerElement);
        if (BitsPerElement(view.dtype_) < 6) expected = view.size_bytes_;  // two or four elements share an entry
    }
  }
  if (found != expected) {
    return ModelError("expected ", expected, tensor.has_raw_data() ? " bytes" : " entries",
                      " of data for its shape and type, found ", found);
  }
  return view;
}

std::optional<absl::Span<const std::byte>> TensorView::InMemory() const {
  if (storage_ != Storage::kBytes) return std::nullopt;
  return Bytes(data_, size_bytes_);
}

absl::Status TensorView::ReadFile(int64_t at, absl::Span<char> out) const {
  absl::Status status = ReadFully(*file_->fs, file_->file.get(), offset_ + at, out);
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("'", Escaped(file_->name), "': ", status.message()));
}

absl::Status TensorView::ReadFileChunks(const ChunkFn& fn) const {
  const int64_t chunk = ChunkBytes(dtype_);
  std::vector<char> buffer(static_cast<size_t>(std::min(chunk, size_bytes_)));
  for (int64_t at = 0; at < size_bytes_; at += chunk) {
    const int64_t size = std::min(chunk, size_bytes_ - at);
    const absl::Span<char> part = absl::MakeSpan(buffer.data(), static_cast<size_t>(size));
    AMP_RETURN_IF_ERROR(ReadFile(at, part));
    AMP_RETURN_IF_ERROR(fn(Bytes(part.data(), size)));
  }
  return absl::OkStatus();
}

template <typename Wide, typename Narrow>
absl::Status TensorView::SqueezeChunks(const ChunkFn& fn) const {
  const int64_t count = size_bytes_ / static_cast<int64_t>(sizeof(Narrow));
  const int64_t per_chunk = kChunkBytes / static_cast<int64_t>(sizeof(Narrow));
  std::vector<Narrow> buffer(static_cast<size_t>(std::min(count, per_chunk)));
  const Wide* source = static_cast<const Wide*>(data_);
  for (int64_t at = 0; at < count; at += per_chunk) {
    const int64_t size = std::min(per_chunk, count - at);
    for (int64_t i = 0; i < size; ++i) buffer[static_cast<size_t>(i)] = static_cast<Narrow>(source[at + i]);
    AMP_RETURN_IF_ERROR(fn(Bytes(buffer.data(), size * static_cast<int64_t>(sizeof(Narrow)))));
  }
  return absl::OkStatus();
}

// One 6-bit element per entry -> 4 elements in 3 bytes.
absl::Status TensorView::SqueezeSixBits(const ChunkFn& fn) const {
  const auto* source = static_cast<const int32_t*>(data_);
  const int64_t per_chunk = ChunkBytes(dtype_) / 3 * 4;
  for (int64_t at = 0; at < num_elements_; at += per_chunk) {
    const int64_t count = std::min(per_chunk, num_elements_ - at);
    std::vector<uint8_t> buffer(static_cast<size_t>((count * 6 + 7) / 8));
    for (int64_t i = 0; i < count; ++i) {
      const uint32_t bits = (static_cast<uint32_t>(source[at + i]) & 0x3f) << (i * 6 % 8);
      const size_t byte = static_cast<size_t>(i * 6 / 8);
      buffer[byte] = static_cast<uint8_t>(buffer[byte] | bits);
      if (bits > 0xff) buffer[byte + 1] = static_cast<uint8_t>(buffer[byte + 1] | (bits >> 8));
    }
    AMP_RETURN_IF_ERROR(fn(Bytes(buffer.data(), static_cast<int64_t>(buffer.size()))));
  }
  return absl::OkStatus();
}

absl::Status TensorView::ForEachChunk(const ChunkFn& fn) const {
  switch (storage_) {
    case Storage::kFile:
      return ReadFileChunks(fn);
    case Storage::kUint64PerUint32:
      return SqueezeChunks<uint64_t, uint32_t>(fn);
    case Storage::kInt32PerElement:
      if (BitsPerElement(dtype_) == 16) return SqueezeChunks<int32_t, uint16_t>(fn);
      return BitsPerElement(dtype_) == 6 ? SqueezeSixBits(fn) : SqueezeChunks<int32_t, uint8_t>(fn);
    case Storage::kBytes:
      break;
  }
  const int64_t chunk = ChunkBytes(dtype_);
  for (int64_t at = 0; at < size_bytes_; at += chunk) {
    AMP_RETURN_IF_ERROR(fn(Bytes(static_cast<const std::byte*>(data_) + at, std::min(chunk, size_bytes_ - at))));
  }
  return absl::OkStatus();
}

absl::Status TensorView::CopyTo(absl::Span<std::byte> out) const {
  AMP_CHECK(static_cast<int64_t>(out.size()) == size_bytes_);
  if (storage_ == Storage::kFile) return ReadFile(0, {reinterpret_cast<char*>(out.data()), out.size()});
  return ForEachChunk([&](absl::Span<const std::byte> chunk) {
    std::memcpy(out.data(), chunk.data(), chunk.size());
    out.remove_prefix(chunk.size());
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<double>> TensorView::ReadAsDoubles(int64_t max_elements) const {
  if (num_elements_ > max_elements) {
    return LimitError("expected at most ", max_elements, " elements, found ", num_elements_);
  }
  std::vector<std::byte> bytes(static_cast<size_t>(size_bytes_));
  AMP_RETURN_IF_ERROR(CopyTo(absl::MakeSpan(bytes)));
  std::vector<double> values(static_cast<size_t>(num_elements_));
  for (int64_t i = 0; i < num_elements_; ++i) {
    const std::optional<double> value = DoubleAt(bytes, i, dtype_);
    if (!value.has_value()) return ModelError("expected real numbers, found ", DTypeName(dtype_));
    values[static_cast<size_t>(i)] = *value;
  }
  return values;
}

absl::StatusOr<std::vector<int64_t>> TensorView::ReadAsInt64(int64_t max_elements) const {
  if (num_elements_ > max_elements) {
    return LimitError("expected at most ", max_elements, " elements, found ", num_elements_);
  }
  std::vector<std::byte> bytes(static_cast<size_t>(size_bytes_));
  AMP_RETURN_IF_ERROR(CopyTo(absl::MakeSpan(bytes)));
  std::vector<int64_t> values(static_cast<size_t>(num_elements_));
  for (int64_t i = 0; i < num_elements_; ++i) {
    const std::optional<int64_t> value = IntegerAt(bytes, i, dtype_);
    if (!value.has_value()) return ModelError("expected integers that fit int64, found ", DTypeName(dtype_));
    values[static_cast<size_t>(i)] = *value;
  }
  return values;
}

}  // namespace amp
