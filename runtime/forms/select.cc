#include "runtime/forms/select.h"

#include <optional>

#include "ir/base/status.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

constexpr int kFirstWithKAsInput = 10;

absl::StatusOr<int64_t> ReadK(const KernelContext& context) {
  if (context.version() >= kFirstWithKAsInput) return context.InputInt(1);
  const std::optional<int64_t> k = GetInt(context.node(), "k");
  if (!k.has_value()) return ModelError("expected k, found none");
  return *k;
}

}  // namespace

absl::StatusOr<ExtremeForm> ReadExtreme(const KernelContext& context) {
  const Node& node = context.node();
  ExtremeForm form;
  form.dims = context.Input(0).dims();
  AMP_ASSIGN_OR_RETURN(form.axis, NormalizeAxis(GetInt(node, "axis", 0), form.dims.size()));
  form.dims[form.axis] = 1;
  if (GetInt(node, "keepdims", 1) == 0) form.dims.erase(form.dims.begin() + static_cast<std::ptrdiff_t>(form.axis));
  form.takes_last = GetInt(node, "select_last_index", 0) != 0;
  return form;
}

absl::StatusOr<TopForm> ReadTop(const KernelContext& context) {
  const Tensor& x = context.Input(0);
  TopForm form;
  AMP_ASSIGN_OR_RETURN(form.axis, NormalizeAxis(GetInt(context.node(), "axis", -1), x.rank()));
  AMP_ASSIGN_OR_RETURN(form.k, ReadK(context));
  if (form.k < 0 || form.k > x.dim(form.axis)) {
    return ModelError("expected k in [0, ", x.dim(form.axis), "], found ", form.k);
  }
  form.is_largest = GetInt(context.node(), "largest", 1) != 0;
  return form;
}

}  // namespace amp
