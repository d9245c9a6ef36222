// A model as text in the middle of a rewrite, for people.
#ifndef AMP_IR_GRAPH_PRINT_MODEL_H_
#define AMP_IR_GRAPH_PRINT_MODEL_H_

#include <string>

#include "absl/status/statusor.h"
#include "ir/graph/graph.h"

namespace amp {

// ONNX's own syntax (ir/file/text.h). Values of tensors with more than 64 elements are left out:
//   <float16[512, 512] w = ["location": "left out"]>
// Printing has no effect on what is saved later. Errors: those of PrintOnnxText.
absl::StatusOr<std::string> PrintModel(Model& model);

}  // namespace amp

#endif  // AMP_IR_GRAPH_PRINT_MODEL_H_
