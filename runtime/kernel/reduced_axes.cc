#include "runtime/kernel/reduced_axes.h"

#include <optional>

#include "ir/base/status.h"
#include "runtime/kernel/cells.h"
#include "runtime/kernel/shape_math.h"

namespace amp {

absl::StatusOr<std::vector<size_t>> ReducedAxes(const KernelContext& context, size_t rank) {
  AMP_ASSIGN_OR_RETURN(const std::optional<std::vector<int64_t>> axes, context.IntsOfInputOrAttribute(1, "axes"));
  if (axes.has_value() && !axes->empty()) return NormalizeAxes(*axes, rank);
  if (GetInt(context.node(), "noop_with_empty_axes", 0) != 0) return std::vector<size_t>();
  return AxesBetween(0, rank);
}

Dims ReducedDims(Dims dims, absl::Span<const size_t> axes, int64_t keepdims) {
  for (const size_t axis : axes) dims[axis] = 1;
  if (keepdims != 0) return dims;
  for (size_t i = axes.size(); i-- > 0;) dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axes[i]));
  return dims;
}

}  // namespace amp
