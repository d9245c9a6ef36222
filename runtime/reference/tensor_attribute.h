// Attributes that hold a tensor, as kernels read tensors.
#ifndef AMP_RUNTIME_REFERENCE_TENSOR_ATTRIBUTE_H_
#define AMP_RUNTIME_REFERENCE_TENSOR_ATTRIBUTE_H_

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// Nothing where the node has no such attribute. Errors: those of reading a constant.
absl::StatusOr<std::optional<Tensor>> ReadTensorAttribute(const KernelContext& context, absl::string_view name);

}  // namespace amp

#endif  // AMP_RUNTIME_REFERENCE_TENSOR_ATTRIBUTE_H_
