#include "runtime/reference/stack.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ir/base/status.h"
#include "ir/graph/shape.h"
#include "runtime/kernel/move_elements.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/join.h"

namespace amp {
namespace {

// With kUnknownDim where a dimension is not known, and no dimensions where the rank is not.
Dims KnownDims(const BodyOutput& source) {
  const ValueId value = source.model.graph(source.body).outputs[source.port];
  const std::optional<Dims> stated = StatedOutputShape(source.model, source.body, source.port);
  Dims dims = ShapeOf(source.model, value).value_or(stated.value_or(Dims()));
  for (size_t i = 0; stated.has_value() && stated->size() == dims.size() && i < dims.size(); ++i) {
    if (dims[i] == kUnknownDim) dims[i] = (*stated)[i];
  }
  return dims;
}

absl::StatusOr<Tensor> EmptyStack(const BodyOutput& source, int64_t axis) {
  Dims dims = KnownDims(source);
  std::replace(dims.begin(), dims.end(), kUnknownDim, int64_t{0});
  AMP_ASSIGN_OR_RETURN(const size_t at, NormalizeAxis(axis, dims.size() + 1));
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), 0);
  const ValueId value = source.model.graph(source.body).outputs[source.port];
  return Tensor::Create(source.model.value(value).dtype, std::move(dims));
}

}  // namespace

absl::StatusOr<Tensor> Stack(const BodyOutput& source, absl::Span<const Tensor> elements, int64_t axis) {
  if (elements.empty()) return EmptyStack(source, axis);
  AMP_ASSIGN_OR_RETURN(const size_t at, NormalizeAxis(axis, elements[0].rank() + 1));
  std::vector<Tensor> layers;
  for (const Tensor& element : elements) {
    if (element.dtype() != elements[0].dtype() || element.dims() != elements[0].dims()) {
      return ModelError("expected a ", elements[0].TypeText(), " from every iteration, found ", element.TypeText());
    }
    Dims dims = element.dims();
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), 1);
    layers.push_back(element.Reshaped(std::move(dims)));
  }
  return Join(layers, static_cast<int64_t>(at));
}

absl::StatusOr<Tensor> SliceAt(const Tensor& whole, size_t axis, int64_t index) {
  Dims dims = whole.dims();
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  AMP_ASSIGN_OR_RETURN(Tensor slice, Tensor::Create(whole.dtype(), std::move(dims)));
  if (slice.num_elements() == 0) return slice;
  Dims strides = RowStrides(whole.dims());
  const int64_t start = index * strides[axis];
  strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(axis));
  AMP_RETURN_IF_ERROR(CopyStrided(whole, start, strides, slice));
  return slice;
}

absl::Status TakeOutputs(std::vector<Datum> outputs, absl::Span<Datum> states, absl::Span<std::vector<Tensor>> scans) {
  for (size_t i = 0; i < states.size(); ++i) states[i] = std::move(outputs[i]);
  for (size_t i = 0; i < scans.size(); ++i) {
    const Datum& output = outputs[states.size() + i];
    if (output.tensor() == nullptr) return ModelError("expected a tensor to stack, found ", output.TypeText());
    scans[i].push_back(*output.tensor());
  }
  return absl::OkStatus();
}

}  // namespace amp
