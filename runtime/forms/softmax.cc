#include "runtime/forms/softmax.h"

#include "ir/base/status.h"
#include "ir/graph/attributes.h"

namespace amp {

AxisView SoftmaxForm::View(const Dims& x) const {
  AxisView view(x, first);
  if (end > first + 1) {
    view.size *= view.inner;
    view.inner = 1;
  }
  return view;
}

absl::StatusOr<SoftmaxForm> ReadSoftmax(const KernelContext& context) {
  constexpr int kFirstOfOneAxis = 13;
  const bool is_one_axis = context.version() >= kFirstOfOneAxis;
  const size_t rank = context.Input(0).rank();
  AMP_ASSIGN_OR_RETURN(const size_t axis, NormalizeAxis(GetInt(context.node(), "axis", is_one_axis ? -1 : 1), rank));
  return SoftmaxForm{.first = axis, .end = is_one_axis ? axis + 1 : rank};
}

}  // namespace amp
