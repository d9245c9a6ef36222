#include "runtime/forms/fill_value.h"

#include "ir/base/status.h"
#include "ir/graph/attributes.h"
#include "runtime/kernel/make_datum.h"

namespace amp {

absl::StatusOr<Tensor> ReadFillValue(const KernelContext& context) {
  const onnx::TensorProto* value = GetTensor(context.node(), "value");
  if (value == nullptr) return Tensor::Scalar(0.0f);
  AMP_ASSIGN_OR_RETURN(const TensorContent content, ReadTensor(*value, context.model().weights()));
  AMP_ASSIGN_OR_RETURN(Tensor tensor, MakeTensor(content));
  if (tensor.num_elements() != 1) return ModelError("expected a value of one element, found ", tensor.TypeText());
  return tensor;
}

}  // namespace amp
