// Where the elements of a model's tensors are: in its message, in its own file, in files beside it, or in the tensor
// that they are made of when the model is saved.
//
//   Weights weights(file.external);
//   view = weights.View(tensor)                float32 [1000, 1000] in model.onnx_data: nothing is read yet
//   weights.ConvertWhenSaved(*narrowed, view)  float16 [1000, 1000] without a payload:
//                                              converted chunk by chunk while it is written,
//                                              never whole in memory
//
// Tensors are known by their address: who frees one that is to be converted forgets it first. Looking at external data
// opens its files, so that not even a const Weights is thread-safe.
#ifndef AMP_IR_FILE_WEIGHTS_H_
#define AMP_IR_FILE_WEIGHTS_H_

#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "ir/file/tensor_view.h"

namespace amp {

// Payloads that were not read with the message: they are where they were in its file. A copy of the message has none.
struct PayloadsInFile {
  std::shared_ptr<const DataFile> file;
  absl::flat_hash_map<const onnx::TensorProto*, int64_t> offsets;

  // Errors: kUnavailable where the file has changed since it was opened.
  absl::Status CheckUnchanged() const;
};

class Weights {
 public:
  Weights() = default;  // without external data
  explicit Weights(std::shared_ptr<ExternalData> external, std::shared_ptr<const PayloadsInFile> in_file = nullptr)
      : external_(std::move(external)), in_file_(std::move(in_file)) {}

  // The elements as they are now; a tensor that is to be converted has none yet. REQUIRES: the tensor passed
  // ValidateModel. Errors: those of TensorView::Of.
  absl::StatusOr<TensorView> View(const onnx::TensorProto& tensor) const;

  // Closes the model's own file: its payloads have been read, or are in the message.
  void ForgetFile() { in_file_ = nullptr; }

  // `tensor`, which has its type and dims and no payload, gets the elements of `source`, converted to its type, when it
  // is written. Conversions: none, float32 or float64 to float16 or bfloat16, and these two to float32.
  void ConvertWhenSaved(const onnx::TensorProto& tensor, TensorView source) {
    sources_.insert_or_assign(&tensor, std::move(source));
  }
  // Returns the source of such a tensor; null for any other. Valid until the next one is added or forgotten.
  const TensorView* SourceOf(const onnx::TensorProto& tensor) const {
    const auto it = sources_.find(&tensor);
    return it == sources_.end() ? nullptr : &it->second;
  }
  void Forget(const onnx::TensorProto& tensor) { sources_.erase(&tensor); }
  bool ConvertsAny() const { return !sources_.empty(); }

 private:
  std::shared_ptr<ExternalData> external_;
  std::shared_ptr<const PayloadsInFile> in_file_;  // null: none
  absl::flat_hash_map<const onnx::TensorProto*, TensorView> sources_;
};

}  // namespace amp

#endif  // AMP_IR_FILE_WEIGHTS_H_
