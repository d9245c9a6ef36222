// The payloads of a model that is being saved: which ones there are, where each goes, and how it is streamed there.
#ifndef AMP_IR_FILE_SAVE_PAYLOAD_H_
#define AMP_IR_FILE_SAVE_PAYLOAD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ir/file/save.h"

namespace amp {

inline constexpr int64_t kSplicedBytes = 65536;  // raw_data from here on goes around protobuf's serialiser

struct Payload {
  onnx::TensorProto* tensor = nullptr;
  TensorView source;
  DType to = DType::kUndefined;
  int64_t size_bytes = 0;
  bool external = false;  // to the data file, else into raw_data
  int64_t offset = 0;     // in the data file
  bool first = true;      // false: an earlier payload with the same source and offset brings the bytes
};

struct PayloadLayout {
  std::vector<Payload> payloads;  // in the model's order: whatever does not simply stay in the message
  int64_t data_bytes = 0;         // size of the data file, 0 for none
};

// Errors: those of resolving external data.
absl::StatusOr<PayloadLayout> LayOutPayloads(onnx::ModelProto& model, const Weights& weights,
                                             const SaveOptions& options);

// Hands over the payload's bytes, converted, in order.
absl::Status StreamPayload(const Payload& payload, absl::FunctionRef<absl::Status(absl::string_view)> sink);

// Takes the payloads out of their tensors, and puts everything back when it goes.
class StrippedTensors {
 public:
  StrippedTensors() = default;
  StrippedTensors(const StrippedTensors&) = delete;
  StrippedTensors& operator=(const StrippedTensors&) = delete;
  ~StrippedTensors();
  // Leaves name, type, dims and annotations; no data and no reference to any.
  void Strip(onnx::TensorProto* tensor);

 private:
  struct Saved {
    onnx::TensorProto* tensor;
    onnx::TensorProto* original;
  };
  std::vector<Saved> saved_;
};

}  // namespace amp

#endif  // AMP_IR_FILE_SAVE_PAYLOAD_H_
