// Models as text, in ONNX's own syntax, for tests, the demo and dumps.
//
//   <ir_version: 8, opset_import: ["" : 17]>
//   tiny (float[2, 4] x) => (float[2, 3] y) <float[4, 3] w = {...}> { y = MatMul(x, w) }
//
// The text is not the whole model: printing drops doc strings of nodes, tensors of sub-byte types and unknown fields.
// It is meant for texts of our own: how deep graphs nest is not limited, so do not parse text from strangers.
#ifndef AMP_IR_FILE_TEXT_H_
#define AMP_IR_FILE_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onnx {
class ModelProto;
}

namespace amp {

// The serialized ModelProto that `text` describes. Errors: kDataLoss "line 3, column 7: what".
absl::StatusOr<std::string> ParseOnnxText(absl::string_view text);

// The model as text with a newline at the end; ParseOnnxText of it prints the same again.
// Errors: kDataLoss where the bytes of a tensor do not fit its shape and type.
absl::StatusOr<std::string> PrintOnnxText(const onnx::ModelProto& model);

}  // namespace amp

#endif  // AMP_IR_FILE_TEXT_H_
