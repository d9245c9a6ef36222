#include "runtime/forms/reduction.h"

#include <optional>
#include <utility>

#include "absl/types/span.h"
#include "ir/base/status.h"
#include "runtime/kernel/cells.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

absl::StatusOr<std::vector<size_t>> ReadAxes(const KernelContext& context, size_t rank) {
  AMP_ASSIGN_OR_RETURN(const std::optional<std::vector<int64_t>> axes, context.IntsOfInputOrAttribute(1, "axes"));
  if (axes.has_value() && !axes->empty()) return NormalizeAxes(*axes, rank);
  if (GetInt(context.node(), "noop_with_empty_axes", 0) != 0) return std::vector<size_t>();
  return AxesBetween(0, rank);
}

Dims DimsWithOnes(Dims dims, absl::Span<const size_t> axes) {
  for (const size_t axis : axes) dims[axis] = 1;
  return dims;
}

}  // namespace

absl::StatusOr<ReductionForm> ReadReduction(const KernelContext& context) {
  const Dims& x = context.Input(0).dims();
  AMP_ASSIGN_OR_RETURN(std::vector<size_t> axes, ReadAxes(context, x.size()));
  Dims dims = DimsWithOnes(x, axes);
  if (GetInt(context.node(), "keepdims", 1) == 0) {
    for (size_t i = axes.size(); i-- > 0;) dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axes[i]));
  }
  return ReductionForm{std::move(axes), std::move(dims)};
}

ReductionForm ReadGlobalReduction(const KernelContext& context) {
  const Dims& x = context.Input(0).dims();
  ReductionForm form;
  for (size_t axis = 2; axis < x.size(); ++axis) form.axes.push_back(axis);
  form.dims = DimsWithOnes(x, form.axes);
  return form;
}

}  // namespace amp
