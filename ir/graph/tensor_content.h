// The content of constants and of tensors in files, whatever form they have there: dense, sparse, text, or the numbers
// in an attribute of a Constant node.
#ifndef AMP_IR_GRAPH_TENSOR_CONTENT_H_
#define AMP_IR_GRAPH_TENSOR_CONTENT_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ir/file/tensor_view.h"
#include "ir/graph/graph.h"

namespace amp {

struct TensorContent {
  DType dtype = DType::kUndefined;
  std::vector<int64_t> dims;
  std::vector<std::byte> bytes;      // as ONNX's raw_data: types below 8 bits packed; empty for strings
  std::vector<std::string> strings;  // of kString
};

// Errors: those of Weights::View; strings that are too many or too few for the dims.
absl::StatusOr<TensorContent> ReadTensor(const onnx::TensorProto& tensor, const Weights& weights);

// Reads a value that is an initializer, dense or sparse, or the output of a Constant; nothing for any other. Whether
// callers may override an initializer is not checked. Errors: as above; indices of a sparse tensor that are out of
// range.
absl::StatusOr<std::optional<TensorContent>> ReadConstant(const Model& model, ValueId value);

// The elements of a constant that a message holds densely, wherever they are; nothing for any other, and for strings.
// Errors: those of Weights::View.
absl::StatusOr<std::optional<TensorView>> ViewConstant(const Model& model, ValueId value);

// Frees the numbers in an initializer's own message, for a caller that has read them and keeps the model for its nodes.
// The model cannot be saved after this. Does nothing for other values than dense initializers.
void ReleaseInitializer(Model& model, ValueId value);

// The content of a .pb file of a test case or of a user: a serialized TensorProto, SequenceProto or OptionalProto, by
// the type of the value that it is for.
struct DatumContent {
  enum class Kind { kTensor, kSequence, kNothing };
  Kind kind = Kind::kNothing;
  TensorContent tensor;
  std::vector<DatumContent> elements;  // of a sequence
};
// `like`: the value whose type says which message it is. Errors: kDataLoss.
absl::StatusOr<DatumContent> ParseDatum(absl::string_view bytes, const Model& model, ValueId like);

}  // namespace amp

#endif  // AMP_IR_GRAPH_TENSOR_CONTENT_H_
