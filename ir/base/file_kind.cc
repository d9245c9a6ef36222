#include "ir/base/file_kind.h"

#include <fcntl.h>

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "ir/base/status.h"

namespace amp {
namespace {

constexpr int64_t kFirstBytes = 4096;

// The fields of a ModelProto, read without its payloads.
class ModelFields {
 public:
  ModelFields(FileSystem& fs, int file, int64_t size_bytes) : fs_(fs), file_(file), size_(size_bytes) {}

  // Writers put ir_version first: then a graph or an opset import is enough, and the file may be cut short. Otherwise
  // the fields must fill the file, for some texts begin like a field.
  absl::StatusOr<bool> AreThere() {
    constexpr int kMostFields = 1000;
    bool has_graph = false, begins_with_version = false;
    for (int i = 0; i < kMostFields && at_ < size_; ++i) {
      AMP_ASSIGN_OR_RETURN(const std::optional<Field> field, Next());
      if (!field.has_value() || !IsOfModel(*field)) return false;
      if (i == 0) begins_with_version = field->number == kIrVersion;
      has_graph |= field->number == kGraph;
      const bool is_telling = field->number == kGraph || field->number == kOpsetImport;
      if (begins_with_version && is_telling) return true;
    }
    return has_graph && at_ == size_;
  }

 private:
  static constexpr int kIrVersion = 1, kModelVersion = 5, kGraph = 7, kOpsetImport = 8;
  enum Wire { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  struct Field {
    uint64_t number = 0;
    int wire = 0;
  };

  static bool IsOfModel(const Field& field) {
    constexpr uint64_t kNamedFields = 8;
    if (field.number == 0) return false;
    if (field.number > kNamedFields) return true;  // of a newer ONNX, say
    const bool is_number = field.number == kIrVersion || field.number == kModelVersion;
    return field.wire == (is_number ? kVarint : kBytes);
  }

  // Moves past a field; nothing where the bytes are none.
  absl::StatusOr<std::optional<Field>> Next() {
    AMP_ASSIGN_OR_RETURN(const std::optional<uint64_t> tag, Varint());
    if (!tag.has_value()) return std::nullopt;
    const Field field{*tag >> 3, static_cast<int>(*tag & 7)};
    if (field.wire == kFixed64) return Skip(field, sizeof(uint64_t));
    if (field.wire == kFixed32) return Skip(field, sizeof(uint32_t));
    if (field.wire != kVarint && field.wire != kBytes) return std::nullopt;
    AMP_ASSIGN_OR_RETURN(const std::optional<uint64_t> value, Varint());
    if (!value.has_value()) return std::nullopt;
    return Skip(field, field.wire == kBytes ? *value : 0);
  }

  std::optional<Field> Skip(const Field& field, uint64_t bytes) {
    const auto left = static_cast<uint64_t>(size_ - at_);
    at_ = bytes > left ? size_ + 1 : at_ + static_cast<int64_t>(bytes);
    return field;
  }

  absl::StatusOr<std::optional<uint64_t>> Varint() {
    constexpr int64_t kLongest = 10;
    char bytes[kLongest];
    const int64_t count = std::min(kLongest, size_ - at_);
    if (count <= 0) return std::nullopt;
    AMP_RETURN_IF_ERROR(ReadFully(fs_, file_, at_, absl::MakeSpan(bytes, static_cast<size_t>(count))));
    uint64_t value = 0;
    for (int64_t i = 0; i < count; ++i) {
      const auto byte = static_cast<unsigned char>(bytes[i]);
      value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
      if (byte >= 0x80) continue;
      at_ += i + 1;
      return value;
    }
    return std::nullopt;
  }

  FileSystem& fs_;
  const int file_;
  const int64_t size_;
  int64_t at_ = 0;  // beyond the end: the file is cut short
};

absl::string_view WithoutSpaces(absl::string_view text) { return absl::StripLeadingAsciiWhitespace(text); }

bool IsJson(absl::string_view text) {
  text = WithoutSpaces(text);
  if (text.empty() || (text[0] != '{' && text[0] != '[')) return false;
  const bool is_object = text[0] == '{';
  text = WithoutSpaces(text.substr(1));
  if (text.empty()) return true;
  if (is_object) return text[0] == '"' || text[0] == '}';
  const bool is_word =
      absl::StartsWith(text, "true") || absl::StartsWith(text, "false") || absl::StartsWith(text, "null");
  return is_word || absl::ascii_isdigit(static_cast<unsigned char>(text[0])) || absl::StrContains("{[\"-]", text[0]);
}

bool IsHtml(absl::string_view text) { return absl::StartsWithIgnoreCase(WithoutSpaces(text), "<!doctype html"); }

// The number of fields of a line; 0 where it is no text.
size_t FieldsOf(absl::string_view line) {
  size_t fields = 1;
  bool is_quoted = false;
  for (const char c : line) {
    const bool is_control = static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\r';
    if (is_control) return 0;
    if (c == '"') is_quoted = !is_quoted;
    if (c == ',' && !is_quoted) ++fields;
  }
  return fields;
}

bool IsCsv(absl::string_view text) {
  const size_t first_end = text.find('\n');
  const absl::string_view header = text.substr(0, first_end);
  const size_t fields = FieldsOf(header);
  if (fields < 2) return false;
  const absl::string_view rest = first_end == absl::string_view::npos ? "" : text.substr(first_end + 1);
  if (rest.empty()) return !absl::StrContains(header, ' ');  // a header alone; "Hello, world" is none
  return FieldsOf(rest.substr(0, rest.find('\n'))) == fields;
}

// tools/library/checkpoint.cc writes its description first.
bool IsCheckpoint(absl::string_view archive) {
  constexpr size_t kNameAt = 30;  // behind the fixed part of a member's header
  return archive.size() > kNameAt && absl::StartsWith(archive.substr(kNameAt), "amp.checkpoint.npy");
}

// A list file that a program wrote (passes/report/search_report.h).
bool IsList(absl::string_view text) { return absl::StartsWith(text, "# Operator list"); }

}  // namespace

absl::string_view KindText(FileKind kind) {
  switch (kind) {
    case FileKind::kEmpty:
      return "an empty file";
    case FileKind::kModel:
      return "an ONNX model";
    case FileKind::kArchive:
      return "an archive (npz or zip)";
    case FileKind::kCheckpoint:
      return "a checkpoint";
    case FileKind::kArray:
      return "an array (npy)";
    case FileKind::kJson:
      return "JSON";
    case FileKind::kHtml:
      return "HTML";
    case FileKind::kCsv:
      return "CSV";
    case FileKind::kList:
      return "an operator list";
    case FileKind::kOther:
      return "of another kind";
  }
  return "";
}

absl::StatusOr<FileKind> FindKind(FileSystem& fs, int file, int64_t size_bytes) {
  if (size_bytes == 0) return FileKind::kEmpty;
  std::string first(static_cast<size_t>(std::min(kFirstBytes, size_bytes)), '\0');
  AMP_RETURN_IF_ERROR(ReadFully(fs, file, 0, absl::MakeSpan(first)));
  for (const absl::string_view mark : {"PK\x03\x04", "PK\x05\x06"}) {
    if (absl::StartsWith(first, mark)) return IsCheckpoint(first) ? FileKind::kCheckpoint : FileKind::kArchive;
  }
  if (absl::StartsWith(first, "\x93NUMPY")) return FileKind::kArray;
  if (IsJson(first)) return FileKind::kJson;
  if (IsList(first)) return FileKind::kList;
  if (IsHtml(first)) return FileKind::kHtml;
  AMP_ASSIGN_OR_RETURN(const bool is_model, ModelFields(fs, file, size_bytes).AreThere());
  if (is_model) return FileKind::kModel;
  return IsCsv(first) ? FileKind::kCsv : FileKind::kOther;
}

absl::Status CheckKind(FileSystem& fs, int dir, const std::string& name, const struct stat& info,
                       const NewContent& content) {
  if (content.force || info.st_size == 0) return absl::OkStatus();
  const UniqueFile file(fs, fs.Open(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  const std::string expected = absl::StrCat("; expected ", KindText(content.kind), ", or --force");
  if (!file.ok()) {
    return IoError("exists and cannot be opened to see what it is: ", ErrnoText(file.get()), expected);
  }
  AMP_ASSIGN_OR_RETURN(const FileKind found, FindKind(fs, file.get(), info.st_size));
  return found == content.kind ? absl::OkStatus() : RefusedError("exists and is ", KindText(found), expected);
}

}  // namespace amp
