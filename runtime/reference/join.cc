#include "runtime/reference/join.h"

#include <utility>

#include "ir/base/status.h"
#include "runtime/kernel/move_elements.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

// The dims of the whole.
absl::StatusOr<Dims> JoinedDims(absl::Span<const Tensor> parts, size_t axis) {
  Dims dims = parts[0].dims();
  for (const Tensor& part : parts.subspan(1)) {
    Dims others = part.dims();
    if (part.rank() == dims.size()) others[axis] = dims[axis];
    if (part.dtype() != parts[0].dtype() || others != dims) {
      return ModelError("expected tensors that differ in dimension ", axis, " only, found ", parts[0].TypeText(),
                        " and ", part.TypeText());
    }
    if (__builtin_add_overflow(dims[axis], part.dim(axis), &dims[axis])) {
      return LimitError("expected a dimension that fits, found ", part.TypeText(), " too many");
    }
  }
  return dims;
}

}  // namespace

absl::StatusOr<Tensor> Join(absl::Span<const Tensor> parts, int64_t axis, TensorMemory* memory) {
  if (parts.empty()) return ModelError("expected tensors, found none");
  AMP_ASSIGN_OR_RETURN(const size_t along, NormalizeAxis(axis, parts[0].rank()));
  AMP_ASSIGN_OR_RETURN(Dims dims, JoinedDims(parts, along));
  AMP_ASSIGN_OR_RETURN(Tensor whole, Tensor::Create(parts[0].dtype(), std::move(dims), memory));
  if (whole.num_elements() == 0) return whole;
  const AxisView view(whole.dims(), along);
  size_t at = 0;
  for (const Tensor& part : parts) {
    const size_t run = static_cast<size_t>(part.dim(along)) * view.inner;
    CopyBlocks(part, {0, run}, whole, {at, view.size * view.inner}, run, view.outer);
    at += run;
  }
  return whole;
}

absl::StatusOr<std::vector<Tensor>> Split(const Tensor& whole, size_t axis, absl::Span<const int64_t> sizes,
                                          TensorMemory* memory) {
  const AxisView view(whole.dims(), axis);
  int64_t first = 0;
  std::vector<Tensor> parts;
  for (const int64_t size : sizes) {
    if (size < 0 || size > whole.dim(axis) - first) {
      return ModelError("expected sizes that sum up to ", whole.dim(axis), ", found ", DimsText(sizes));
    }
    Dims dims = whole.dims();
    dims[axis] = size;
    AMP_ASSIGN_OR_RETURN(Tensor part, Tensor::Create(whole.dtype(), std::move(dims), memory));
    const size_t run = static_cast<size_t>(size) * view.inner;
    if (part.num_elements() != 0) {
      CopyBlocks(whole, {static_cast<size_t>(first) * view.inner, view.size * view.inner}, part, {0, run}, run,
                 view.outer);
    }
    parts.push_back(std::move(part));
    first += size;
  }
  if (first != whole.dim(axis)) {
    return ModelError("expected sizes that sum up to ", whole.dim(axis), ", found ", DimsText(sizes));
  }
  return parts;
}

}  // namespace amp
