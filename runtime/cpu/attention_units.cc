#include "runtime/cpu/attention_units.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "ir/base/status.h"
#include "runtime/cpu/attention_blocks.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

constexpr size_t kMostAxes = 4;

// A tensor's dims and strides in another order of axes; of rank 4, with ones in front.
struct HeadView {
  Dims dims;
  HeadStrides strides = {};
};

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

ScoreMask::Kind KindOf(AttentionForm::Mask::Kind kind) {
  switch (kind) {
    case AttentionForm::Mask::Kind::kKeepsWhereTrue:
      return ScoreMask::Kind::kKeepsWhereTrue;
    case AttentionForm::Mask::Kind::kKeepsWhereFalse:
      return ScoreMask::Kind::kKeepsWhereFalse;
    case AttentionForm::Mask::Kind::kAdded:
      break;
  }
  return ScoreMask::Kind::kAdded;
}

// Nothing where a mask would make the scores larger.
std::optional<std::vector<ScoreMask>> MasksOf(const KernelContext& context, const AttentionForm& form,
                                              const Dims& scores) {
  std::vector<ScoreMask> masks;
  for (size_t i = 0; i < form.masks.size(); ++i) {
    const Tensor& tensor = context.Input(3 + i);
    const absl::StatusOr<Dims> dims = BroadcastDims(tensor.dims(), scores);
    if (!dims.ok() || *dims != scores) return std::nullopt;
    ScoreMask& mask = masks.emplace_back();
    mask.kind = KindOf(form.masks[i].kind);
    mask.fill = static_cast<float>(form.masks[i].fill);
    mask.operand.tensor = tensor;
    const Dims strides = BroadcastStrides(tensor.dims(), scores);
    std::copy(strides.begin(), strides.end(), mask.operand.strides.begin());
  }
  return masks;
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

absl::Status Attention(KernelContext& context) {
  const auto& unit = context.State<AttentionUnit>();
  const auto refuse = [](const char* why) { return absl::UnimplementedError(why); };
  std::optional<HeadView> q = ViewOf(context.Input(0).dims(), unit.orders[0]);
  std::optional<HeadView> k = ViewOf(context.Input(1).dims(), unit.orders[1]);
  std::optional<HeadView> v = ViewOf(context.Input(2).dims(), unit.orders[2]);
  const size_t rank = context.Input(0).rank();
  if (!q.has_value() || !k.has_value() || !v.has_value()) return refuse("ranks other than 2 to 4");
  const bool has_other_rank = context.Input(1).rank() > rank || context.Input(2).rank() > rank ||
                              (!unit.order_of_result.empty() && unit.order_of_result.size() != rank);
  const bool needs_four = unit.form.keys == AttentionForm::Keys::kBeforeHeads && context.Input(1).rank() != kMostAxes;
  if (has_other_rank || needs_four) return refuse("operands of different ranks");
  MakeRows(unit.form.keys, *k);
  const bool fits =
      Broadcasts(*k, q->dims) && Broadcasts(*v, q->dims) && k->dims[2] == v->dims[2] && k->dims[3] == q->dims[3];
  if (!fits) return refuse("shapes that do not fit");
  Dims scores = {q->dims[0], q->dims[1], q->dims[2], k->dims[2]};
  scores.erase(scores.begin(), scores.end() - static_cast<std::ptrdiff_t>(rank));
  AttentionProblem problem{.batch = q->dims[0],
                           .heads = q->dims[1],
                           .queries = q->dims[2],
                           .keys = k->dims[2],
                           .size = q->dims[3],
                           .value_size = v->dims[3],
                           .q = {context.Input(0), q->strides},
                           .k = {context.Input(1), k->strides},
                           .v = {context.Input(2), v->strides},
                           .scale = static_cast<float>(unit.form.scale),
                           .soft_cap = static_cast<float>(unit.form.soft_cap),
                           .zeroes_nans = unit.zeroes_nans};
  std::optional<std::vector<ScoreMask>> masks = MasksOf(context, unit.form, scores);
  if (!masks.has_value()) return refuse("a mask that is larger than the scores");
  problem.masks = *std::move(masks);
  for (ScoreMask& mask : problem.masks) {
    std::rotate(mask.operand.strides.begin(), mask.operand.strides.begin() + static_cast<std::ptrdiff_t>(rank),
                mask.operand.strides.end());
  }
  if (const char* why = WhyNotInBlocks(context, problem)) return refuse(why);
  Dims stored;
  problem.y =
      ResultOf({problem.batch, problem.heads, problem.queries, problem.value_size}, rank, unit.order_of_result, stored)
          .strides;
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, context.Input(0).dtype(), stored));
  return AttendInBlocks(context, problem, *y);
}

constexpr KernelRow kRow = {.op_type = "Attention", .function = Attention, .family = "onednn"};

}  // namespace

const KernelRow& AttentionUnitRow() { return kRow; }

}  // namespace amp
