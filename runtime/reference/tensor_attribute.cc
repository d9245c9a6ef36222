#include "runtime/reference/tensor_attribute.h"

#include <utility>

#include "ir/graph/tensor_content.h"
#include "runtime/kernel/make_datum.h"

namespace amp {

absl::StatusOr<std::optional<Tensor>> ReadTensorAttribute(const KernelContext& context, absl::string_view name) {
  const onnx::TensorProto* proto = GetTensor(context.node(), name);
  if (proto == nullptr) return std::optional<Tensor>();
  AMP_ASSIGN_OR_RETURN(const TensorContent content, ReadTensor(*proto, context.model().weights()));
  AMP_ASSIGN_OR_RETURN(Tensor tensor, MakeTensor(content));
  return std::optional<Tensor>(std::move(tensor));
}

}  // namespace amp
