#include "runtime/kernel/fused_attention.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "ir/base/status.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

constexpr size_t kMostAxes = 4;

// A tensor's dims and strides in another order of axes; of rank 4, with ones in front.
// Axis i of the result is axis order[i] of `dims`; nothing where that is no order of them.
std::optional<HeadView> ViewOf(const Dims& dims, std::vector<int64_t> order) {
  if (order.empty()) {
    order.resize(dims.size());
    std::iota(order.begin(), order.end(), 0);
  }
  if (dims.size() < 2 || dims.size() > kMostAxes || order.size() != dims.size()) return std::nullopt;
  const Dims strides = RowStrides(dims);
  HeadView view{.dims = Dims(kMostAxes, 1)};
  const size_t first = kMostAxes - dims.size();
  for (size_t i = 0; i < order.size(); ++i) {
    const auto axis = static_cast<size_t>(order[i]);
    if (axis >= dims.size()) return std::nullopt;
    view.dims[first + i] = dims[axis];
    view.strides[first + i] = strides[axis];
  }
  return view;
}

// As rows of keys, whatever form they have.
void MakeRows(AttentionForm::Keys form, HeadView& keys) {
  if (form == AttentionForm::Keys::kRows) return;
  const size_t axis = form == AttentionForm::Keys::kColumns ? 3 : 1;  // that becomes axis 2
  std::swap(keys.dims[2], keys.dims[axis]);
  std::swap(keys.strides[2], keys.strides[axis]);
}

// Whether batch and heads are those of the queries, or one for all.
bool Broadcasts(HeadView& operand, const Dims& queries) {
  for (const size_t axis : {size_t{0}, size_t{1}}) {
    if (operand.dims[axis] == queries[axis]) continue;
    if (operand.dims[axis] != 1) return false;
    operand.strides[axis] = 0;
  }
  return true;
}

// The places of the result's axes [batch, head, row, column] and its dims, in the order in which it is stored.
HeadView ResultOf(const Dims& dims, size_t rank, const std::vector<int64_t>& order, Dims& stored) {
  const Dims of_rank(dims.end() - static_cast<std::ptrdiff_t>(rank), dims.end());
  std::vector<size_t> places(rank);  // of each axis in what is stored
  std::iota(places.begin(), places.end(), 0);
  stored = of_rank;
  for (size_t i = 0; i < order.size(); ++i) {
    stored[i] = of_rank[static_cast<size_t>(order[i])];
    places[static_cast<size_t>(order[i])] = i;
  }
  const Dims strides = RowStrides(stored);
  HeadView view{.dims = dims};
  for (size_t i = 0; i < rank; ++i) view.strides[kMostAxes - rank + i] = strides[places[i]];
  return view;
}

}  // namespace

absl::StatusOr<AttentionViews> ViewsOfAttention(const KernelContext& context, const FusedAttention& fused) {
  std::optional<HeadView> q = ViewOf(context.Input(0).dims(), fused.orders[0]);
  std::optional<HeadView> k = ViewOf(context.Input(1).dims(), fused.orders[1]);
  std::optional<HeadView> v = ViewOf(context.Input(2).dims(), fused.orders[2]);
  const size_t rank = context.Input(0).rank();
  if (!q.has_value() || !k.has_value() || !v.has_value()) return Refusal("ranks other than 2 to 4");
  const bool has_other_rank = context.Input(1).rank() > rank || context.Input(2).rank() > rank ||
                              (!fused.order_of_result.empty() && fused.order_of_result.size() != rank);
  const bool needs_four = fused.form.keys == AttentionForm::Keys::kBeforeHeads && context.Input(1).rank() != kMostAxes;
  if (has_other_rank || needs_four) return Refusal("operands of different ranks");
  MakeRows(fused.form.keys, *k);
  const bool fits =
      Broadcasts(*k, q->dims) && Broadcasts(*v, q->dims) && k->dims[2] == v->dims[2] && k->dims[3] == q->dims[3];
  if (!fits) return Refusal("shapes that do not fit");
  AttentionViews views{
      .q = *q, .k = *k, .v = *v, .y = {}, .scores = {q->dims[0], q->dims[1], q->dims[2], k->dims[2]}, .stored = {}};
  views.scores.erase(views.scores.begin(), views.scores.end() - static_cast<std::ptrdiff_t>(rank));
  const Dims result = {q->dims[0], q->dims[1], q->dims[2], v->dims[3]};
  views.y = ResultOf(result, rank, fused.order_of_result, views.stored);
  return views;
}

}  // namespace amp
