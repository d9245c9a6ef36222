// Model-local functions that passes bring along, written as ONNX's text.
//
//   <domain: "ai.amp", opset_import: ["" : 13]>
//   Half <by: float = 0.5> (x) => (y) { h = Constant <value_float: float = @by> ()  y = Mul (x, h) }
#ifndef AMP_IR_FUNCTIONS_ADD_FUNCTIONS_H_
#define AMP_IR_FUNCTIONS_ADD_FUNCTIONS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ir/graph/graph.h"

namespace amp {

inline constexpr absl::string_view kOwnDomain = "ai.amp";  // of functions that stay calls, see FunctionMode

// Adds the functions of `text` to the model, unless that has one of this domain and name already, and imports the
// domain. In the text, what is imported of ai.onnx is replaced by the model's version.
// REQUIRES: the text is a program's own: one that does not parse is a bug.
void AddFunction(Model& model, absl::string_view text);

struct FunctionPorts {
  std::string domain, name;
  int num_inputs = 0, num_outputs = 0;
};
// Adds a caller's function, a serialized onnx::FunctionProto, with its imports. Errors: kInvalidArgument for bytes that
// are no function, an import of another version than the model's, or a name that is taken. ValidateModel judges its
// nodes, on the model's message.
absl::StatusOr<FunctionPorts> AddCallersFunction(Model& model, const std::string& bytes);

}  // namespace amp

#endif  // AMP_IR_FUNCTIONS_ADD_FUNCTIONS_H_
