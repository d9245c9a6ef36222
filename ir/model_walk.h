// Visits every tensor or node of a model, in all the places where ONNX can put one: initializers, sparse initializers,
// attributes, bodies of control flow, model-local functions, training information. Order of the message; bodies come
// right after their node. Depth of recursion is bounded by the nesting limit of the loader.
#ifndef AMP_IR_MODEL_WALK_H_
#define AMP_IR_MODEL_WALK_H_

#include <functional>

#include "absl/functional/function_ref.h"

namespace onnx {
class GraphProto;
class ModelProto;
class TensorProto;
}  // namespace onnx

namespace amp {

void ForEachTensor(const onnx::ModelProto& model, absl::FunctionRef<void(const onnx::TensorProto&)> visit);
void ForEachMutableTensor(onnx::ModelProto& model, absl::FunctionRef<void(onnx::TensorProto&)> visit);
// Dense initializers only, of all graphs: the tensors that every runtime accepts as external data.
void ForEachInitializer(const onnx::ModelProto& model, absl::FunctionRef<void(const onnx::TensorProto&)> visit);

}  // namespace amp

#endif  // AMP_IR_MODEL_WALK_H_
