#include "tools/data/read_idx.h"

#include <zlib.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "ir/base/status.h"
#include "ir/file/tensor_view.h"

namespace amp {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;
constexpr size_t kMostBytes = static_cast<size_t>(kMaxElements) * sizeof(double);
constexpr int kGzipWindow = 15 + 16;  // zlib's way to say: the largest window, a gzip header

struct EndInflate {
  void operator()(z_stream* stream) const { inflateEnd(stream); }
};

struct TypeByte {
  unsigned char byte;
  DType dtype;
};
constexpr TypeByte kTypeBytes[] = {{0x08, DType::kUint8}, {0x09, DType::kInt8},    {0x0B, DType::kInt16},
                                   {0x0C, DType::kInt32}, {0x0D, DType::kFloat32}, {0x0E, DType::kFloat64}};

unsigned ByteAt(absl::string_view bytes, size_t i) { return static_cast<unsigned char>(bytes[i]); }

std::optional<DType> TypeOf(absl::string_view bytes) {
  if (bytes.size() < 4 || bytes[0] != 0 || bytes[1] != 0) return std::nullopt;
  for (const TypeByte& row : kTypeBytes) {
    if (row.byte == ByteAt(bytes, 2)) return row.dtype;
  }
  return std::nullopt;
}

// Each element's bytes the other way round.
void TurnElements(absl::Span<std::byte> bytes, size_t element_bytes) {
  for (size_t i = 0; i < bytes.size(); i += element_bytes) {
    std::reverse(bytes.begin() + static_cast<ptrdiff_t>(i), bytes.begin() + static_cast<ptrdiff_t>(i + element_bytes));
  }
}

}  // namespace

bool IsGzip(absl::string_view bytes) { return absl::StartsWith(bytes, "\x1f\x8b"); }

absl::StatusOr<std::string> Gunzip(absl::string_view bytes) {
  z_stream stream = {};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) return LimitError("out of memory for zlib");
  const std::unique_ptr<z_stream, EndInflate> ended(&stream);
  std::string result;
  size_t taken = 0;
  for (;;) {
    const size_t size = result.size(), given = std::min(bytes.size() - taken, kChunkBytes);
    if (size > kMostBytes) return LimitError("gzip: expected at most ", kMostBytes, " bytes, found more");
    result.resize(size + kChunkBytes);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data())) + taken;  // zlib only reads it
    stream.avail_in = static_cast<uInt>(given);
    stream.next_out = reinterpret_cast<Bytef*>(result.data()) + size;
    stream.avail_out = static_cast<uInt>(kChunkBytes);
    const int code = inflate(&stream, Z_NO_FLUSH);
    taken += given - stream.avail_in;
    result.resize(size + kChunkBytes - stream.avail_out);
    if (code == Z_STREAM_END) {
      if (taken == bytes.size()) return result;
      if (!IsGzip(bytes.substr(taken))) return UsageError("gzip: expected the end, found other bytes behind it");
      inflateReset(&stream);
    } else if (code == Z_MEM_ERROR) {
      return LimitError("out of memory for zlib");
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      return UsageError("gzip: damaged: ", stream.msg == nullptr ? "no such stream" : stream.msg);
    } else if (taken == bytes.size() && stream.avail_out > 0) {
      return UsageError("gzip: expected more bytes, found the end of the file");
    }
  }
}

bool IsIdx(absl::string_view bytes) { return TypeOf(bytes).has_value(); }

absl::StatusOr<Tensor> ParseIdx(absl::string_view bytes) {
  const std::optional<DType> dtype = TypeOf(bytes);
  if (!dtype.has_value()) return UsageError("expected an IDX file, found other bytes");
  const size_t rank = ByteAt(bytes, 3), header = 4 + 4 * rank;
  if (bytes.size() < header) return UsageError("expected a header of ", header, " bytes, found ", bytes.size());
  Dims dims;
  for (size_t i = 4; i < header; i += 4) {
    dims.push_back(static_cast<int64_t>(ByteAt(bytes, i) << 24 | ByteAt(bytes, i + 1) << 16 |
                                        ByteAt(bytes, i + 2) << 8 | ByteAt(bytes, i + 3)));
  }
  const std::optional<int64_t> count = ElementCount(dims);
  const std::optional<int64_t> size = count.has_value() ? RawBytes(*dtype, *count) : std::nullopt;
  if (!size.has_value() || bytes.size() - header != static_cast<size_t>(*size)) {
    return UsageError("expected ", size.has_value() ? absl::StrCat(*size) : "far more", " bytes of elements, found ",
                      bytes.size() - header);
  }
  AMP_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(*dtype, std::move(dims)));
  const absl::Span<std::byte> elements = tensor.mutable_bytes();
  std::transform(bytes.begin() + static_cast<ptrdiff_t>(header), bytes.end(), elements.begin(),
                 [](char c) { return static_cast<std::byte>(c); });
  if (!elements.empty()) TurnElements(elements, ElementBytes(*dtype));
  return tensor;
}

}  // namespace amp
