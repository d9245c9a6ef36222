// A walk over the bytes of a model file before protobuf sees them, so that parsing them cannot blow up.
//
// A 4 MB file of two-byte empty sub-messages costs protobuf half a gigabyte; a chain of nested messages costs stack.
// The walk follows the wire format with a table of ONNX's messages, keeps one small window of the file in memory, jumps
// over payloads without reading them, and allocates nothing but a note per large payload:
//
//   model { graph { node*  initializer { dims data_type  raw_data: 300 MB } } }
//                                                        ^ LargePayload{offset, length}
//
// The notes, with the length prefixes of the enclosing messages, let a reader parse the file without its large
// payloads (and a writer splice payloads into a serialised model) although every enclosing length changes: see
// WireEdit.
#ifndef AMP_IR_FILE_PRESCAN_H_
#define AMP_IR_FILE_PRESCAN_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ir/base/file_system.h"
#include "ir/base/limits.h"

namespace amp {

// Where the bytes of a model are: an open file, or memory. The file must stay open.
struct ByteSource {
  FileSystem* fs = nullptr;  // null: memory
  int file = -1;
  int64_t size = 0;
  absl::string_view memory;

  static ByteSource File(FileSystem& fs, int file, int64_t size) { return {&fs, file, size, {}}; }
  static ByteSource Memory(absl::string_view bytes) { return {nullptr, -1, static_cast<int64_t>(bytes.size()), bytes}; }
};

// Bytes [offset, offset + old_size) of the source become `prefix`, or the contents of payload number `payload`.
struct WireEdit {
  int64_t offset = 0;
  int64_t old_size = 0;
  std::string prefix;
  int payload = -1;
};

// One TensorProto.raw_data.
struct RawData {
  int64_t offset = 0;
  int64_t length = 0;
};

struct PrescanResult {
  int64_t objects = 0, nodes = 0, initializers = 0, functions = 0;
  int depth = 0, graph_depth = 0;  // largest seen
  std::vector<WireEdit> edits;     // in order of offset, not overlapping; empty when no raw_data was replaced
  std::vector<RawData> payloads;   // the replaced ones, in order; WireEdit::payload points here
  int64_t edited_size = 0;         // size of the whole after the edits
};

// Called for each raw_data; a size asks for its replacement by that many other bytes.
using ReplaceRawData = std::function<std::optional<int64_t>(const RawData&)>;

// Errors: kDataLoss (not well-formed, with the byte offset), kResourceExhausted (a limit), kUnavailable (reading).
absl::StatusOr<PrescanResult> Prescan(const ByteSource& source, const Limits& limits,
                                      const ReplaceRawData& replace = nullptr);

}  // namespace amp

#endif  // AMP_IR_FILE_PRESCAN_H_
