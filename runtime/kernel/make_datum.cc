#include "runtime/kernel/make_datum.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ir/base/status.h"

namespace amp {
namespace {

uint8_t SignExtended(uint8_t value, int bits) {
  const auto sign = static_cast<uint8_t>(1u << (bits - 1));
  return static_cast<uint8_t>((value ^ sign) - sign);
}

// Elements of 2, 4 or 6 bits, the first one in the lowest bits.
void Unpack(absl::Span<const std::byte> packed, DType dtype, absl::Span<std::byte> out) {
  const auto bits = static_cast<size_t>(BitsPerElement(dtype));
  const bool is_signed = dtype == DType::kInt4 || dtype == DType::kInt2;
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t first = i * bits / 8, shift = i * bits % 8;
    unsigned word = std::to_integer<unsigned>(packed[first]);
    if (first + 1 < packed.size()) word |= std::to_integer<unsigned>(packed[first + 1]) << 8;
    const auto value = static_cast<uint8_t>((word >> shift) & ((1u << bits) - 1));
    out[i] = std::byte(is_signed ? SignExtended(value, static_cast<int>(bits)) : value);
  }
}

}  // namespace

absl::StatusOr<Tensor> MakeTensor(const TensorContent& content) {
  AMP_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(content.dtype, {content.dims.begin(), content.dims.end()}));
  if (content.dtype == DType::kString) {
    std::copy(content.strings.begin(), content.strings.end(), tensor.mutable_elements<std::string>().begin());
    return tensor;
  }
  const absl::Span<std::byte> bytes = tensor.mutable_bytes();
  if (BitsPerElement(content.dtype) < 8) {
    Unpack(content.bytes, content.dtype, bytes);
  } else if (content.dtype == DType::kBool) {
    // A file may hold any byte; a bool is 0 or 1.
    std::transform(content.bytes.begin(), content.bytes.end(), bytes.begin(),
                   [](std::byte b) { return b == std::byte(0) ? b : std::byte(1); });
  } else if (!bytes.empty()) {
    std::memcpy(bytes.data(), content.bytes.data(), bytes.size());
  }
  return tensor;
}

absl::StatusOr<Tensor> MakeTensor(const TensorView& view) {
  if (BitsPerElement(view.dtype()) < 8 || view.dtype() == DType::kBool) {
    TensorContent content{view.dtype(), {view.dims().begin(), view.dims().end()}, {}, {}};
    content.bytes.resize(static_cast<size_t>(view.size_bytes()));
    AMP_RETURN_IF_ERROR(view.CopyTo(absl::MakeSpan(content.bytes)));
    return MakeTensor(content);
  }
  AMP_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(view.dtype(), {view.dims().begin(), view.dims().end()}));
  if (view.size_bytes() > 0) AMP_RETURN_IF_ERROR(view.CopyTo(tensor.mutable_bytes()));
  return tensor;
}

absl::StatusOr<Datum> MakeDatum(const DatumContent& content) {
  switch (content.kind) {
    case DatumContent::Kind::kNothing:
      return Datum();
    case DatumContent::Kind::kTensor: {
      AMP_ASSIGN_OR_RETURN(Tensor tensor, MakeTensor(content.tensor));
      return Datum(std::move(tensor));
    }
    case DatumContent::Kind::kSequence: {
      Sequence sequence;
      for (const DatumContent& element : content.elements) {
        AMP_ASSIGN_OR_RETURN(sequence.elements.emplace_back(), MakeDatum(element));
      }
      return Datum(std::move(sequence));
    }
  }
  return Datum();
}

}  // namespace amp
