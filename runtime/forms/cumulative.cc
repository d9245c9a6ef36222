#include "runtime/forms/cumulative.h"

#include "ir/base/status.h"
#include "runtime/kernel/shape_math.h"

namespace amp {

absl::StatusOr<CumulativeForm> ReadCumulative(const KernelContext& context) {
  CumulativeForm form;
  AMP_ASSIGN_OR_RETURN(const int64_t axis, context.InputInt(1));
  AMP_ASSIGN_OR_RETURN(form.axis, NormalizeAxis(axis, context.Input(0).rank()));
  form.reverse = GetInt(context.node(), "reverse", 0) != 0;
  form.exclusive = GetInt(context.node(), "exclusive", 0) != 0;
  return form;
}

}  // namespace amp
