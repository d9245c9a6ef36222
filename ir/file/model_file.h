// Reading a model file that nobody vouches for.
//
//   open, must be a regular file -> pre-scan (ir/file/prescan.h) -> parse into an arena -> large raw_data read straight
//   into place, each exactly once
//
// Parsing leaves the large payloads out and reads them afterwards, so that protobuf's doubling of growing strings never
// happens: peak memory is the size of the file plus a few megabytes.
#ifndef AMP_IR_FILE_MODEL_FILE_H_
#define AMP_IR_FILE_MODEL_FILE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/arena.h"
#include "ir/base/file_system.h"
#include "ir/base/limits.h"
#include "ir/file/external_data.h"
#include "ir/file/prescan.h"
#include "ir/file/weights.h"

namespace onnx {
class ModelProto;
class TensorProto;
}  // namespace onnx

namespace amp {

// kLeaveOut: payloads of 64 KiB and more are not read; LoadedFile::left_out has their sizes. For checking a file.
// kInFile: such payloads of the main graph's initializers stay in the file until LoadedFile::weights() is asked for
// them. For who reads each of them once, and then asks PayloadsInFile::CheckUnchanged; a model from memory has none.
enum class Payloads { kRead, kLeaveOut, kInFile };

// Bytes of raw_data of tensors whose payload was left out.
using LeftOutPayloads = absl::flat_hash_map<const onnx::TensorProto*, int64_t>;

struct ReadOptions {
  Limits limits;
  Payloads payloads = Payloads::kRead;
  FileSystem* fs = &FileSystem::Real();
};

struct LoadedFile {
  std::string path;
  std::unique_ptr<google::protobuf::Arena> arena;
  onnx::ModelProto* model = nullptr;         // lives on the arena
  std::shared_ptr<const DataFile> original;  // the file, still open; null for a model from memory
  std::shared_ptr<ExternalData> external;    // null for a model from memory
  uint64_t device = 0, inode = 0;            // of the file
  int highest_opset_import = 0;  // of ai.onnx, before conflicting imports were repaired; set by ValidateFile
  LeftOutPayloads left_out;
  std::shared_ptr<const PayloadsInFile> in_file;  // null unless such payloads were asked for
  PrescanResult counts;
  std::vector<std::string> warnings;

  Weights weights() const { return Weights(external, in_file); }
  // Hands the bytes of the file, as they were read, to `sink`. REQUIRES: original.
  absl::Status CopyOriginal(absl::FunctionRef<absl::Status(absl::string_view)> sink) const;
};

// Errors: kUnavailable (no such file, reading fails, the file changes meanwhile), kPermissionDenied (not a regular
// file), kDataLoss (no ONNX model, with the byte offset), kResourceExhausted (a limit). Nothing is validated beyond the
// wire format: see LoadModel.
absl::StatusOr<LoadedFile> ReadModelFile(const std::string& path, const ReadOptions& options = {});

// Parses a model in memory; external data cannot be resolved.
absl::StatusOr<LoadedFile> ParseModel(absl::string_view bytes, const Limits& limits = {});

// Reads the payloads that stay in the file into the message, for edits that copy it. Errors: kUnavailable.
absl::Status ReadPayloadsInFile(LoadedFile& file);

// Repairs opset imports and validates (ir/file/validate.h) what ReadModelFile gave. Errors: those of ValidateModel.
absl::Status ValidateFile(LoadedFile& file, const Limits& limits);

// ReadModelFile, then repair of opset imports, ValidateModel (ir/file/validate.h) and a check of all external data.
// What Model::Create and the libraries beneath it may be given.
absl::StatusOr<LoadedFile> LoadModel(const std::string& path, const ReadOptions& options = {});

}  // namespace amp

#endif  // AMP_IR_FILE_MODEL_FILE_H_
