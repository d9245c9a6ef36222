// Tensors whose bytes lie in a file beside the model. The file's name comes from the model and is not trusted.
//
//   location "weights/layer0.bin"      opened below the model's directory, through no symbolic link that leaves it
//   location "../secret", "/etc/x"     refused
//   location "model.onnx_data", a      opened, if the model was opened through one too and the data is a regular file
//     symbolic link                    directly in the folder of the model's real path: a hub cache, whose links point
//                                      into one folder of blobs
//
// Each data file is opened once per model and stays open. Not thread-safe.
#ifndef AMP_IR_FILE_EXTERNAL_DATA_H_
#define AMP_IR_FILE_EXTERNAL_DATA_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ir/file/tensor_view.h"

namespace onnx {
class ModelProto;
class TensorProto;
}  // namespace onnx

namespace amp {

// The entries of a TensorProto's external_data, checked.
struct ExternalReference {
  std::string location;  // normalised: no "." or ".." or empty components
  int64_t offset = 0;
  int64_t length = -1;  // -1: not given
};

bool IsExternal(const onnx::TensorProto& tensor);

// Errors: kDataLoss (missing or duplicate keys, numbers that are not strict decimals), kPermissionDenied (a location
// that leaves the model's directory). Unknown keys are appended to `unknown_keys` when given.
absl::StatusOr<ExternalReference> ParseExternalReference(const onnx::TensorProto& tensor,
                                                         std::vector<std::string>* unknown_keys = nullptr);

class ExternalData {
 public:
  // `model_path` as the user gave it. Errors: kUnavailable if its directory cannot be opened.
  static absl::StatusOr<std::shared_ptr<ExternalData>> Open(const std::string& model_path,
                                                            FileSystem& fs = FileSystem::Real());

  // The tensor's region, checked against the file's size. Errors as above, and: kPermissionDenied (a symbolic link that
  // leaves the directory, not a regular file), kDataLoss (region beyond the file, length other than shape x type),
  // kUnavailable (no such file, reading fails).
  absl::StatusOr<TensorView> View(const onnx::TensorProto& tensor);

  // Opens and checks every external tensor of the model; warns once per unknown key and data file with several links.
  absl::Status Check(const onnx::ModelProto& model, std::vector<std::string>* warnings);

  // Files opened so far, by location.
  const std::map<std::string, std::shared_ptr<const DataFile>>& files() const { return files_; }
  int directory() const { return directory_.get(); }
  bool uses_hub_links() const { return uses_hub_links_; }  // some file was found by way of the model's own link

 private:
  ExternalData() = default;
  absl::StatusOr<std::shared_ptr<const DataFile>> OpenLocation(const std::string& location);
  absl::StatusOr<UniqueFile> OpenConfined(const std::string& location);
  int WalkComponents(const std::string& location);
  int OpenHubBlob(const std::string& location);

  FileSystem* fs_ = nullptr;
  UniqueFile directory_;
  std::string directory_path_;
  UniqueFile real_directory_;  // of the model's real path; open only if the model is a symbolic link
  std::string real_directory_path_;
  bool model_is_link_ = false, uses_hub_links_ = false;
  std::map<std::string, std::shared_ptr<const DataFile>> files_;
};

// Reads external tensors below kSmallTensorBytes into the message: shapes, axes and scalars that inference, guards and
// adapters look at. Errors: those of ExternalData and of reading.
inline constexpr int64_t kSmallTensorBytes = 1024;
absl::Status EmbedSmallTensors(onnx::ModelProto& model, ExternalData& external);

}  // namespace amp

#endif  // AMP_IR_FILE_EXTERNAL_DATA_H_
