// A function of an older ai.onnx opset than the model's, with the same meaning at the model's opset.
//
//   imports 12: b = Squeeze <axes = [0]> (a)    ->    imports 17: b_axes = Constant <value = {0}> ()
//                                                                 b = Squeeze (a, b_axes)
//
// The adapters of ir/opset/opset_adapters.h do it, on the function's nodes as the graph of a small model of their own.
// There the types of the function's inputs are not known, so steps that ask for one refuse; so do nodes that would
// change their form while an attribute is a reference.
#ifndef AMP_IR_FUNCTIONS_LIFT_FUNCTION_H_
#define AMP_IR_FUNCTIONS_LIFT_FUNCTION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/base/reason.h"

namespace google::protobuf {
class Arena;
}
namespace onnx {
class FunctionProto;
class ModelProto;
}  // namespace onnx

namespace amp {

struct LiftedFunction {
  std::unique_ptr<onnx::FunctionProto> function;  // null where no adapter reaches the opset
  Reason obstacle = Reason::None();
};
// Name, ports and attributes stay.
LiftedFunction LiftFunction(const onnx::FunctionProto& function, int opset);

// Lifts a model to the newest opset of the functions that it calls, where their operators have another form than at the
// model's own, so that they can be inlined. `arena`: the model's; another one may come back. Returns why that was not
// possible, where it was needed. Errors: those of Model::Create.
absl::StatusOr<Reason> LiftModelToFunctions(std::unique_ptr<google::protobuf::Arena>& arena, onnx::ModelProto* model,
                                            const std::vector<std::string>& opaque_domains);

}  // namespace amp

#endif  // AMP_IR_FUNCTIONS_LIFT_FUNCTION_H_
