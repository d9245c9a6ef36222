#include "runtime/check_input.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/base/status.h"
#include "ir/graph/shape.h"

namespace amp {
namespace {

bool HasDeclaredShape(const Model& model, ValueId input, const Tensor& tensor) {
  const std::optional<std::vector<int64_t>> dims = ShapeOf(model, input);
  if (!dims.has_value()) return true;
  if (dims->size() != tensor.rank()) return false;
  for (size_t i = 0; i < dims->size(); ++i) {
    if ((*dims)[i] != kUnknownDim && (*dims)[i] != tensor.dim(i)) return false;
  }
  return true;
}

}  // namespace

absl::Status CheckInput(const Model& model, ValueId input, const Datum& datum) {
  const Value& value = model.value(input);
  const Tensor* const tensor = datum.tensor();
  if (tensor == nullptr) {
    if (!value.is_tensor) return absl::OkStatus();
    return UsageError("input '", Escaped(value.name), "': expected a tensor, found ", datum.TypeText());
  }
  const bool has_type = value.dtype == DType::kUndefined || tensor->dtype() == value.dtype;
  if (has_type && HasDeclaredShape(model, input, *tensor)) return absl::OkStatus();
  return UsageError("input '", Escaped(value.name), "': expected ", TypeText(model, input), ", found ",
                    tensor->TypeText());
}

}  // namespace amp
