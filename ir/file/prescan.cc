#include "ir/file/prescan.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "ir/base/status.h"

namespace amp {
namespace {

enum class Kind : uint8_t {
  kNone,     // one number, or not a field of the message
  kNumbers,  // repeated numbers, packed or not
  kString,   // string or bytes
  kModel,
  kGraph,
  kNode,
  kAttribute,
  kTensor,
  kSparseTensor,
  kSegment,
  kValueInfo,
  kType,
  kTypeOfTensor,
  kTypeOfElement,
  kTypeOfMap,
  kTypeOpaque,
  kShape,
  kDimension,
  kOperatorSet,
  kEntry,
  kFunction,
  kTraining,
  kAnnotation,
  kNodeDevice,
  kSharding,
  kIntIntList,
  kShardedDim,
  kSimpleShardedDim,
  kDevice,
  kGroup,  // an unknown group
  kCount
};

// The fields of ONNX 1.23's messages that are strings, bytes or messages, and the plain ones, so that unknown fields
// are told apart: protobuf keeps those, too, at many times their size in the file.
struct Field {
  Kind message;
  int number;
  Kind kind;
};
constexpr int kMaxField = 32;
constexpr int kRawData = 9;
constexpr Field kFields[] = {
    {Kind::kModel, 8, Kind::kOperatorSet},
    {Kind::kModel, 2, Kind::kString},
    {Kind::kModel, 3, Kind::kString},
    {Kind::kModel, 4, Kind::kString},
    {Kind::kModel, 6, Kind::kString},
    {Kind::kModel, 7, Kind::kGraph},
    {Kind::kModel, 14, Kind::kEntry},
    {Kind::kModel, 20, Kind::kTraining},
    {Kind::kModel, 25, Kind::kFunction},
    {Kind::kModel, 26, Kind::kDevice},
    {Kind::kModel, 1, Kind::kNone},
    {Kind::kModel, 5, Kind::kNone},
    {Kind::kGraph, 1, Kind::kNode},
    {Kind::kGraph, 2, Kind::kString},
    {Kind::kGraph, 5, Kind::kTensor},
    {Kind::kGraph, 15, Kind::kSparseTensor},
    {Kind::kGraph, 10, Kind::kString},
    {Kind::kGraph, 11, Kind::kValueInfo},
    {Kind::kGraph, 12, Kind::kValueInfo},
    {Kind::kGraph, 13, Kind::kValueInfo},
    {Kind::kGraph, 14, Kind::kAnnotation},
    {Kind::kGraph, 16, Kind::kEntry},
    {Kind::kNode, 1, Kind::kString},
    {Kind::kNode, 2, Kind::kString},
    {Kind::kNode, 3, Kind::kString},
    {Kind::kNode, 4, Kind::kString},
    {Kind::kNode, 7, Kind::kString},
    {Kind::kNode, 8, Kind::kString},
    {Kind::kNode, 5, Kind::kAttribute},
    {Kind::kNode, 6, Kind::kString},
    {Kind::kNode, 9, Kind::kEntry},
    {Kind::kNode, 10, Kind::kNodeDevice},
    {Kind::kAttribute, 1, Kind::kString},
    {Kind::kAttribute, 21, Kind::kString},
    {Kind::kAttribute, 13, Kind::kString},
    {Kind::kAttribute, 4, Kind::kString},
    {Kind::kAttribute, 5, Kind::kTensor},
    {Kind::kAttribute, 6, Kind::kGraph},
    {Kind::kAttribute, 22, Kind::kSparseTensor},
    {Kind::kAttribute, 14, Kind::kType},
    {Kind::kAttribute, 9, Kind::kString},
    {Kind::kAttribute, 10, Kind::kTensor},
    {Kind::kAttribute, 11, Kind::kGraph},
    {Kind::kAttribute, 23, Kind::kSparseTensor},
    {Kind::kAttribute, 15, Kind::kType},
    {Kind::kAttribute, 20, Kind::kNone},
    {Kind::kAttribute, 2, Kind::kNone},
    {Kind::kAttribute, 3, Kind::kNone},
    {Kind::kAttribute, 7, Kind::kNumbers},
    {Kind::kAttribute, 8, Kind::kNumbers},
    {Kind::kTensor, 3, Kind::kSegment},
    {Kind::kTensor, 6, Kind::kString},
    {Kind::kTensor, 8, Kind::kString},
    {Kind::kTensor, 12, Kind::kString},
    {Kind::kTensor, 9, Kind::kString},
    {Kind::kTensor, 13, Kind::kEntry},
    {Kind::kTensor, 16, Kind::kEntry},
    {Kind::kTensor, 1, Kind::kNumbers},
    {Kind::kTensor, 2, Kind::kNone},
    {Kind::kTensor, 4, Kind::kNumbers},
    {Kind::kTensor, 5, Kind::kNumbers},
    {Kind::kTensor, 7, Kind::kNumbers},
    {Kind::kTensor, 10, Kind::kNumbers},
    {Kind::kTensor, 11, Kind::kNumbers},
    {Kind::kTensor, 14, Kind::kNone},
    {Kind::kSparseTensor, 1, Kind::kTensor},
    {Kind::kSparseTensor, 2, Kind::kTensor},
    {Kind::kSparseTensor, 3, Kind::kNumbers},
    {Kind::kSegment, 1, Kind::kNone},
    {Kind::kSegment, 2, Kind::kNone},
    {Kind::kValueInfo, 1, Kind::kString},
    {Kind::kValueInfo, 2, Kind::kType},
    {Kind::kValueInfo, 3, Kind::kString},
    {Kind::kValueInfo, 4, Kind::kEntry},
    {Kind::kType, 1, Kind::kTypeOfTensor},
    {Kind::kType, 4, Kind::kTypeOfElement},
    {Kind::kType, 5, Kind::kTypeOfMap},
    {Kind::kType, 9, Kind::kTypeOfElement},
    {Kind::kType, 8, Kind::kTypeOfTensor},
    {Kind::kType, 7, Kind::kTypeOpaque},
    {Kind::kType, 6, Kind::kString},
    {Kind::kTypeOfTensor, 1, Kind::kNone},
    {Kind::kTypeOfTensor, 2, Kind::kShape},
    {Kind::kTypeOfElement, 1, Kind::kType},
    {Kind::kTypeOfMap, 1, Kind::kNone},
    {Kind::kTypeOfMap, 2, Kind::kType},
    {Kind::kTypeOpaque, 1, Kind::kString},
    {Kind::kTypeOpaque, 2, Kind::kString},
    {Kind::kShape, 1, Kind::kDimension},
    {Kind::kDimension, 1, Kind::kNone},
    {Kind::kDimension, 2, Kind::kString},
    {Kind::kDimension, 3, Kind::kString},
    {Kind::kOperatorSet, 1, Kind::kString},
    {Kind::kOperatorSet, 2, Kind::kNone},
    {Kind::kEntry, 1, Kind::kString},
    {Kind::kEntry, 2, Kind::kString},
    {Kind::kFunction, 1, Kind::kString},
    {Kind::kFunction, 4, Kind::kString},
    {Kind::kFunction, 5, Kind::kString},
    {Kind::kFunction, 6, Kind::kString},
    {Kind::kFunction, 11, Kind::kAttribute},
    {Kind::kFunction, 7, Kind::kNode},
    {Kind::kFunction, 8, Kind::kString},
    {Kind::kFunction, 9, Kind::kOperatorSet},
    {Kind::kFunction, 10, Kind::kString},
    {Kind::kFunction, 13, Kind::kString},
    {Kind::kFunction, 12, Kind::kValueInfo},
    {Kind::kFunction, 14, Kind::kEntry},
    {Kind::kTraining, 1, Kind::kGraph},
    {Kind::kTraining, 2, Kind::kGraph},
    {Kind::kTraining, 3, Kind::kEntry},
    {Kind::kTraining, 4, Kind::kEntry},
    {Kind::kAnnotation, 1, Kind::kString},
    {Kind::kAnnotation, 2, Kind::kEntry},
    {Kind::kNodeDevice, 1, Kind::kString},
    {Kind::kNodeDevice, 2, Kind::kSharding},
    {Kind::kNodeDevice, 3, Kind::kNone},
    {Kind::kSharding, 1, Kind::kString},
    {Kind::kSharding, 2, Kind::kNumbers},
    {Kind::kSharding, 3, Kind::kIntIntList},
    {Kind::kSharding, 4, Kind::kShardedDim},
    {Kind::kIntIntList, 1, Kind::kNone},
    {Kind::kIntIntList, 2, Kind::kNumbers},
    {Kind::kShardedDim, 1, Kind::kNone},
    {Kind::kShardedDim, 2, Kind::kSimpleShardedDim},
    {Kind::kSimpleShardedDim, 1, Kind::kNone},
    {Kind::kSimpleShardedDim, 2, Kind::kString},
    {Kind::kSimpleShardedDim, 3, Kind::kNone},
    {Kind::kDevice, 1, Kind::kString},
    {Kind::kDevice, 2, Kind::kNone},
    {Kind::kDevice, 3, Kind::kString},
};

struct FieldTable {
  struct Entry {
    bool known = false;
    Kind kind = Kind::kNone;
    bool IsNumber() const { return known && (kind == Kind::kNone || kind == Kind::kNumbers); }
  };
  std::array<std::array<Entry, kMaxField>, static_cast<size_t>(Kind::kCount)> rows = {};
  constexpr FieldTable() {
    for (const Field& field : kFields) {
      rows[static_cast<size_t>(field.message)][static_cast<size_t>(field.number)] = {true, field.kind};
    }
  }
  constexpr Entry Find(Kind message, uint32_t number) const {
    return number < kMaxField ? rows[static_cast<size_t>(message)][number] : Entry{};
  }
};
constexpr FieldTable kTable;

// The part of the source around a position; for a file, 64 KiB at a time.
class Window {
 public:
  explicit Window(const ByteSource& source) : source_(source) {
    if (source.fs == nullptr) {
      data_ = reinterpret_cast<const uint8_t*>(source.memory.data());
      end_ = source.size;
    } else {
      buffer_.resize(65536);
    }
  }

  // The byte at `at`. REQUIRES: at < source.size. After a failed read: 0, and status() says why.
  uint8_t Byte(int64_t at) {
    if (at < begin_ || at >= end_) Fill(at);
    return status_.ok() ? data_[at - begin_] : uint8_t{0};
  }
  const absl::Status& status() const { return status_; }

 private:
  void Fill(int64_t at) {
    if (!status_.ok()) return;
    const int64_t size = std::min<int64_t>(static_cast<int64_t>(buffer_.size()), source_.size - at);
    status_ = ReadFully(*source_.fs, source_.file, at, absl::MakeSpan(buffer_.data(), static_cast<size_t>(size)));
    data_ = reinterpret_cast<const uint8_t*>(buffer_.data());
    begin_ = at;
    end_ = at + size;
  }

  const ByteSource& source_;
  const uint8_t* data_ = nullptr;
  int64_t begin_ = 0, end_ = 0;
  absl::Status status_;
  std::vector<char> buffer_;  // of a file
};

std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>((value & 0x7f) | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

constexpr int kMaxNesting = 100;  // protobuf's own default

class Scanner {
 public:
  Scanner(const ByteSource& source, const Limits& limits, const ReplaceRawData& replace)
      : source_(source), limits_(limits), replace_(replace), window_(source) {
    max_objects_ = std::max(limits.objects, source.size / kBytesPerObject);
  }

  absl::StatusOr<PrescanResult> Run() {
    const int64_t max_bytes = std::min<int64_t>(limits_.model_bytes, INT32_MAX);
    if (source_.size > max_bytes) {
      return LimitError("the model file: expected at most ", max_bytes, " bytes, found ", source_.size);
    }
    frames_[0] = {.kind = Kind::kModel, .end = source_.size};
    while (true) {
      while (top_ > 0 && position_ == frame().end && frame().kind != Kind::kGroup) Pop();
      if (top_ == 0 && position_ == source_.size) break;
      if (absl::Status status = Step(); !status.ok()) return window_.status().ok() ? status : window_.status();
    }
    std::sort(result_.edits.begin(), result_.edits.end(),
              [](const WireEdit& a, const WireEdit& b) { return a.offset < b.offset; });
    result_.edited_size = source_.size + frame().growth;
    return std::move(result_);
  }

 private:
  struct Frame {
    Kind kind = Kind::kNone;
    int64_t end = 0;
    int64_t prefix_offset = 0, start = 0;  // of the length prefix; of the contents
    int64_t growth = 0;                    // of the contents, through edits
    uint32_t group = 0;
  };
  Frame& frame() { return frames_[static_cast<size_t>(top_)]; }

  template <typename... Args>
  absl::Status Malformed(int64_t at, const Args&... args) {
    return ModelError("not an ONNX model: byte ", at, ": ", args...);
  }

  absl::Status ReadVarint(int max_bytes, absl::string_view what, uint64_t* value) {
    const int64_t start = position_;
    *value = 0;
    for (int i = 0; i < max_bytes; ++i) {
      if (position_ >= frame().end) return Malformed(start, what, " runs past the end of its message");
      const uint8_t byte = window_.Byte(position_++);
      AMP_RETURN_IF_ERROR(window_.status());
      *value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
      if ((byte & 0x80) == 0) return absl::OkStatus();
    }
    return Malformed(start, what, " is longer than ", max_bytes, " bytes");
  }

  absl::Status Skip(int64_t bytes, int64_t at) {
    if (bytes > frame().end - position_) {
      return Malformed(at, "a field of ", bytes, " bytes where its message has ", frame().end - position_, " left");
    }
    position_ += bytes;
    return absl::OkStatus();
  }

  absl::Status CountObject() {
    if (++result_.objects <= max_objects_) return absl::OkStatus();
    return LimitError("the model: expected at most ", max_objects_, " sub-messages and strings, found more");
  }

  absl::Status Push(Frame next, int64_t at) {
    const int limit = std::min(limits_.nesting, kMaxNesting);
    if (top_ + 1 > limit) {
      return LimitError("byte ", at, ": expected at most ", limit, " levels of nesting, found more");
    }
    next.growth = 0;
    frames_[static_cast<size_t>(++top_)] = next;
    result_.depth = std::max(result_.depth, top_);
    if (next.kind != Kind::kGraph) return absl::OkStatus();
    if (++graphs_open_ > limits_.graph_depth) {
      return LimitError("byte ", at, ": expected at most ", limits_.graph_depth, " graphs within graphs, found more");
    }
    result_.graph_depth = std::max(result_.graph_depth, graphs_open_);
    return absl::OkStatus();
  }

  void Pop() {
    const Frame done = frame();
    if (done.kind == Kind::kGraph) --graphs_open_;
    --top_;
    if (done.growth != 0) EditPrefix(done.prefix_offset, done.start, done.end - done.start + done.growth, done.growth);
  }

  // The length prefix at [offset, start) becomes that of `length`; the current frame grows by `growth` and by the
  // prefix.
  void EditPrefix(int64_t offset, int64_t start, int64_t length, int64_t growth) {
    WireEdit edit;
    edit.offset = offset;
    edit.old_size = start - offset;
    edit.prefix = Varint(static_cast<uint64_t>(length));
    frame().growth += growth + static_cast<int64_t>(edit.prefix.size()) - edit.old_size;
    result_.edits.push_back(std::move(edit));
  }

  void OfferRawData(int64_t prefix_offset, RawData raw) {
    const std::optional<int64_t> size = replace_(raw);
    if (!size.has_value()) return;
    EditPrefix(prefix_offset, raw.offset, *size, *size - raw.length);
    WireEdit edit;
    edit.offset = raw.offset;
    edit.old_size = raw.length;
    edit.payload = static_cast<int>(result_.payloads.size());
    result_.payloads.push_back(raw);
    result_.edits.push_back(std::move(edit));
  }

  absl::Status Count(Kind parent, Kind child) {
    if (child == Kind::kNode && ++result_.nodes > limits_.nodes) {
      return LimitError("the model: expected at most ", limits_.nodes, " nodes, found more");
    }
    const bool initializer = parent == Kind::kGraph && (child == Kind::kTensor || child == Kind::kSparseTensor);
    if (initializer && ++result_.initializers > limits_.initializers) {
      return LimitError("the model: expected at most ", limits_.initializers, " initializers, found more");
    }
    if (child == Kind::kFunction && ++result_.functions > limits_.functions) {
      return LimitError("the model: expected at most ", limits_.functions, " functions, found more");
    }
    return absl::OkStatus();
  }

  absl::Status StepDelimited(int64_t at, uint32_t number, FieldTable::Entry field) {
    Frame next;
    next.prefix_offset = position_;
    uint64_t length = 0;
    AMP_RETURN_IF_ERROR(ReadVarint(5, "a length", &length));
    if (length > static_cast<uint64_t>(frame().end - position_)) {
      return Malformed(at, "a field of ", length, " bytes where its message has ", frame().end - position_, " left");
    }
    next.start = position_;
    next.end = position_ + static_cast<int64_t>(length);
    if (field.kind != Kind::kNumbers) AMP_RETURN_IF_ERROR(CountObject());
    if (field.kind == Kind::kNone || field.kind == Kind::kNumbers || field.kind == Kind::kString) {
      if (frame().kind == Kind::kTensor && number == kRawData && replace_) {
        OfferRawData(next.prefix_offset, {next.start, static_cast<int64_t>(length)});
      }
      position_ = next.end;
      return absl::OkStatus();
    }
    AMP_RETURN_IF_ERROR(Count(frame().kind, field.kind));
    next.kind = field.kind;
    return Push(next, at);
  }

  absl::Status StepEndGroup(int64_t at, uint32_t number) {
    if (frame().kind != Kind::kGroup || frame().group != number) {
      return Malformed(at, "the end of a group that was not begun");
    }
    const int64_t growth = frame().growth;
    --top_;
    frame().growth += growth;
    return absl::OkStatus();
  }

  absl::Status Step() {
    const int64_t at = position_;
    if (at >= frame().end) return Malformed(at, "a group without an end");
    uint64_t tag = 0;
    AMP_RETURN_IF_ERROR(ReadVarint(5, "a field tag", &tag));
    const uint64_t number = tag >> 3;
    if (number == 0 || tag > UINT32_MAX) return Malformed(at, "field number ", number, " is not valid");
    const FieldTable::Entry field = kTable.Find(frame().kind, static_cast<uint32_t>(number));
    switch (tag & 7) {
      case 0: {
        if (!field.IsNumber()) AMP_RETURN_IF_ERROR(CountObject());
        uint64_t ignored = 0;
        return ReadVarint(10, "a number", &ignored);
      }
      case 1:
        if (!field.IsNumber()) AMP_RETURN_IF_ERROR(CountObject());
        return Skip(8, at);
      case 2:
        return StepDelimited(at, static_cast<uint32_t>(number), field);
      case 3:
        AMP_RETURN_IF_ERROR(CountObject());
        return Push({.kind = Kind::kGroup, .end = frame().end, .group = static_cast<uint32_t>(number)}, at);
      case 4:
        return StepEndGroup(at, static_cast<uint32_t>(number));
      case 5:
        if (!field.IsNumber()) AMP_RETURN_IF_ERROR(CountObject());
        return Skip(4, at);
      default:
        return Malformed(at, "wire type ", tag & 7, " does not exist");
    }
  }

  const ByteSource& source_;
  const Limits& limits_;
  const ReplaceRawData& replace_;
  Window window_;
  int64_t max_objects_ = 0;
  int64_t position_ = 0;
  int top_ = 0, graphs_open_ = 0;
  std::array<Frame, kMaxNesting + 1> frames_;
  PrescanResult result_;
};

}  // namespace

absl::StatusOr<PrescanResult> Prescan(const ByteSource& source, const Limits& limits, const ReplaceRawData& replace) {
  return Scanner(source, limits, replace).Run();
}

}  // namespace amp
