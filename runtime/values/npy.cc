#include "runtime/values/npy.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ir/base/limits.h"
#include "ir/base/status.h"
#include "ir/base/utf8.h"
#include "ir/file/tensor_view.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/values/compare_values.h"

namespace amp {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kHeaderAlignment = 64;

struct TypeCode {
  absl::string_view code;  // without the byte order
  DType dtype;
};
constexpr TypeCode kTypeCodes[] = {
    {"f4", DType::kFloat32},   {"f8", DType::kFloat64},     {"f2", DType::kFloat16},  {"i1", DType::kInt8},
    {"i2", DType::kInt16},     {"i4", DType::kInt32},       {"i8", DType::kInt64},    {"u1", DType::kUint8},
    {"u2", DType::kUint16},    {"u4", DType::kUint32},      {"u8", DType::kUint64},   {"b1", DType::kBool},
    {"c8", DType::kComplex64}, {"c16", DType::kComplex128}, {"V2", DType::kBfloat16},
};

std::optional<DType> TypeOfCode(absl::string_view descr) {
  if (descr.empty() || descr[0] == '>') return std::nullopt;
  const absl::string_view code = descr[0] == '<' || descr[0] == '|' || descr[0] == '=' ? descr.substr(1) : descr;
  for (const TypeCode& row : kTypeCodes) {
    if (row.code == code) return row.dtype;
  }
  return std::nullopt;
}

std::optional<std::string> CodeOfType(DType dtype) {
  for (const TypeCode& row : kTypeCodes) {
    if (row.dtype == dtype && dtype != DType::kBfloat16) {
      return absl::StrCat(ElementBytes(dtype) == 1 ? "|" : "<", row.code);
    }
  }
  return std::nullopt;
}

// Returns the rest of the header behind "'key':"; empty if the key is missing.
absl::string_view After(absl::string_view header, absl::string_view key) {
  const size_t at = header.find(absl::StrCat("'", key, "'"));
  if (at == absl::string_view::npos) return "";
  const size_t colon = header.find(':', at);
  return colon == absl::string_view::npos ? "" : absl::StripLeadingAsciiWhitespace(header.substr(colon + 1));
}

std::optional<Dims> ParseShape(absl::string_view text) {
  const size_t end = text.find(')');
  if (!absl::ConsumePrefix(&text, "(") || end == absl::string_view::npos) return std::nullopt;
  Dims dims;
  for (const absl::string_view part : absl::StrSplit(text.substr(0, end - 1), ',')) {
    const absl::string_view number = absl::StripAsciiWhitespace(part);
    if (number.empty()) continue;
    int64_t dim = 0;
    if (!absl::SimpleAtoi(number, &dim) || dim < 0 || dims.size() >= static_cast<size_t>(Limits().rank)) {
      return std::nullopt;
    }
    dims.push_back(dim);
  }
  return dims;
}

// The elements of a file in columns, by rows.
absl::StatusOr<Tensor> InRows(const Tensor& columns, const Dims& dims) {
  AMP_ASSIGN_OR_RETURN(Tensor rows, Tensor::Create(columns.dtype(), dims));
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = 0; i < dims.size(); stride *= dims[i++]) strides[i] = stride;
  VisitStorage(columns.dtype(), [&]<typename T>(TypeTag<T>) {
    auto out = rows.mutable_elements<T>().begin();
    for (StridedWalk walk(dims, {strides}); !walk.AtEnd(); walk.Next()) *out++ = columns.elements<T>()[walk[0]];
  });
  return rows;
}

absl::StatusOr<Tensor> AsFloat32(const Tensor& tensor) {
  AMP_ASSIGN_OR_RETURN(Tensor wide, Tensor::Create(DType::kFloat32, tensor.dims()));
  const std::vector<double> elements = AsDoubles(tensor);
  std::transform(elements.begin(), elements.end(), wide.mutable_elements<float>().begin(),
                 [](double element) { return static_cast<float>(element); });
  return wide;
}

absl::StatusOr<Tensor> WritableForm(const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  if (CodeOfType(dtype).has_value()) return tensor;
  if (dtype == DType::kInt4 || dtype == DType::kInt2) return tensor.Reinterpreted(DType::kInt8);
  if (dtype == DType::kUint4 || dtype == DType::kUint2) return tensor.Reinterpreted(DType::kUint8);
  if (IsMinifloat(dtype)) return AsFloat32(tensor);
  return UsageError("expected a tensor of numbers or strings, found ", tensor.TypeText());
}

struct NpyContent {
  std::string descr, payload;
};

absl::StatusOr<std::u32string> CharactersOf(absl::string_view text) {
  std::u32string characters;
  while (!text.empty()) {
    const Utf8Character character = FirstCharacter(text);
    if (character.length == 0) return UsageError("expected strings of UTF-8, found '", Escaped(text), "'");
    characters += static_cast<char32_t>(character.code);
    text.remove_prefix(character.length);
  }
  return characters;
}

// As NumPy has them: four bytes for each character, and zeros up to the length of the longest.
absl::StatusOr<NpyContent> ContentOfStrings(const Tensor& tensor) {
  std::vector<std::u32string> all;
  size_t longest = 1;
  for (const std::string& text : tensor.elements<std::string>()) {
    AMP_ASSIGN_OR_RETURN(all.emplace_back(), CharactersOf(text));
    longest = std::max(longest, all.back().size());
  }
  // Each takes the room of the longest.
  if (longest > static_cast<size_t>(kMaxElements) / std::max<size_t>(all.size(), 1)) {
    return LimitError("expected strings of at most ", kMaxElements, " characters in all, found ", all.size(), " of ",
                      longest);
  }
  NpyContent content{.descr = absl::StrCat("<U", longest), .payload = ""};
  for (std::u32string& text : all) {
    text.resize(longest);
    content.payload.append(reinterpret_cast<const char*>(text.data()), longest * sizeof(char32_t));
  }
  return content;
}

void AppendUtf8(uint32_t code, std::string& text) {
  const auto append = [&](uint32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code < 0x80) {
    append(code);
  } else if (code < 0x800) {
    append(0xc0 | code >> 6);
  } else if (code < 0x10000) {
    append(0xe0 | code >> 12);
    append(0x80 | (code >> 6 & 0x3f));
  } else {
    append(0xf0 | code >> 18);
    append(0x80 | (code >> 12 & 0x3f));
    append(0x80 | (code >> 6 & 0x3f));
  }
  if (code >= 0x80) append(0x80 | (code & 0x3f));
}

// Converts UTF-32 to UTF-8. Zeros at the end are padding.
absl::StatusOr<std::string> TextOfCharacters(absl::string_view bytes) {
  constexpr uint32_t kFirstSurrogate = 0xd800, kLastSurrogate = 0xdfff, kLast = 0x10ffff;
  std::vector<uint32_t> codes(bytes.size() / sizeof(uint32_t));
  if (!codes.empty()) std::memcpy(codes.data(), bytes.data(), bytes.size());
  while (!codes.empty() && codes.back() == 0) codes.pop_back();
  std::string text;
  for (const uint32_t code : codes) {
    if (code > kLast || (code >= kFirstSurrogate && code <= kLastSurrogate)) {
      return UsageError("expected characters of Unicode, found ", code);
    }
    AppendUtf8(code, text);
  }
  return text;
}

// The length of each string of '<U5'; nothing for another type.
std::optional<int64_t> LengthOfStrings(absl::string_view descr) {
  int64_t length = 0;
  const bool is_text = absl::ConsumePrefix(&descr, "<U") && !descr.empty() &&
                       std::all_of(descr.begin(), descr.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!is_text || !absl::SimpleAtoi(descr, &length) || length < 1 || length > kMaxElements) return std::nullopt;
  return length;
}

absl::StatusOr<Tensor> ParseStrings(int64_t length, const Dims& dims, int64_t count, absl::string_view payload) {
  const auto size = static_cast<size_t>(length) * sizeof(uint32_t);
  if (static_cast<size_t>(count) != payload.size() / size || payload.size() % size != 0) {
    return UsageError("expected ", count, " strings of ", size, " bytes each, found ", payload.size(), " bytes in all");
  }
  AMP_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(DType::kString, dims));
  for (std::string& text : tensor.mutable_elements<std::string>()) {
    AMP_ASSIGN_OR_RETURN(text, TextOfCharacters(payload.substr(0, size)));
    payload.remove_prefix(size);
  }
  return tensor;
}

absl::StatusOr<NpyContent> ContentOf(const Tensor& tensor) {
  if (tensor.dtype() == DType::kString) return ContentOfStrings(tensor);
  AMP_ASSIGN_OR_RETURN(const Tensor written, WritableForm(tensor));
  const auto payload = written.bytes();
  return NpyContent{.descr = *CodeOfType(written.dtype()),
                    .payload = {reinterpret_cast<const char*>(payload.data()), payload.size()}};
}

}  // namespace

absl::StatusOr<Tensor> ParseNpy(absl::string_view bytes) {
  constexpr size_t kPreamble = 10, kLongPreamble = 12;
  if (!absl::StartsWith(bytes, kMagic) || bytes.size() < kLongPreamble) {
    return UsageError("expected a .npy file, found other bytes");
  }
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(bytes[i])); };
  const bool is_long = byte(6) >= 2;
  size_t length = byte(8) | byte(9) << 8;
  if (is_long) length |= byte(10) << 16 | byte(11) << 24;
  const size_t start = is_long ? kLongPreamble : kPreamble;
  if (length > bytes.size() - start) return UsageError("expected a header of ", length, " bytes, found fewer");
  const absl::string_view header = bytes.substr(start, length), payload = bytes.substr(start + length);

  absl::string_view descr = After(header, "descr");
  const bool is_quoted = absl::ConsumePrefix(&descr, "'");
  descr = descr.substr(0, descr.find('\''));
  const std::optional<DType> dtype = is_quoted ? TypeOfCode(descr) : std::nullopt;
  const std::optional<int64_t> text_length = is_quoted ? LengthOfStrings(descr) : std::nullopt;
  if (!dtype.has_value() && !text_length.has_value())
    return UsageError("expected little-endian numbers or strings, found the type '", Escaped(descr), "'");
  const std::optional<Dims> dims = ParseShape(After(header, "shape"));
  const std::optional<int64_t> count = dims.has_value() ? ElementCount(*dims) : std::nullopt;
  if (!count.has_value()) return UsageError("expected a shape, found ", Escaped(After(header, "shape").substr(0, 40)));
  const bool in_columns = absl::StartsWith(After(header, "fortran_order"), "True") && dims->size() > 1;
  if (text_length.has_value()) {
    AMP_ASSIGN_OR_RETURN(Tensor strings, ParseStrings(*text_length, *dims, *count, payload));
    return in_columns ? InRows(strings, *dims) : strings;
  }
  const std::optional<int64_t> size = RawBytes(*dtype, *count);
  if (!size.has_value() || static_cast<size_t>(*size) != payload.size()) {
    return UsageError("expected ", size.value_or(-1), " bytes for ", DTypeName(*dtype), DimsText(*dims), ", found ",
                      payload.size());
  }
  AMP_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(*dtype, *dims));
  if (!payload.empty()) std::memcpy(tensor.mutable_bytes().data(), payload.data(), payload.size());
  if (*dtype == DType::kBool) {
    for (std::byte& b : tensor.mutable_bytes()) b = b == std::byte(0) ? b : std::byte(1);
  }
  return in_columns ? InRows(tensor, *dims) : tensor;
}

absl::StatusOr<std::string> NpyBytes(const Tensor& tensor) {
  AMP_ASSIGN_OR_RETURN(const NpyContent content, ContentOf(tensor));
  const Dims& dims = tensor.dims();
  const std::string shape = absl::StrCat("(", absl::StrJoin(dims, ", "), dims.size() == 1 ? ",)" : ")");
  std::string header = absl::StrCat("{'descr': '", content.descr, "', 'fortran_order': False, 'shape': ", shape, ", }");
  constexpr size_t kPreamble = 10;
  header.append(kHeaderAlignment - (kPreamble + header.size() + 1) % kHeaderAlignment, ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes += {'\x01', '\x00', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return absl::StrCat(bytes, header, content.payload);
}

}  // namespace amp
