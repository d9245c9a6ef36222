#include "runtime/cpu/fused_attention_kernel.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ir/base/status.h"
#include "runtime/cpu/attention_blocks.h"
#include "runtime/cpu/few_queries.h"
#include "runtime/kernel/fused_attention.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

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

// Returns nothing if a mask would broadcast the scores to a larger shape.
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

template <const AttentionWay& way>
absl::Status Attention(KernelContext& context) {
  const auto& fused = context.State<FusedAttention>();
  AMP_ASSIGN_OR_RETURN(const AttentionViews views, ViewsOfAttention(context, fused));
  const auto& [q, k, v, y_view, scores, stored] = views;
  AttentionProblem problem{.batch = q.dims[0],
                           .heads = q.dims[1],
                           .queries = q.dims[2],
                           .keys = k.dims[2],
                           .size = q.dims[3],
                           .value_size = v.dims[3],
                           .q = {context.Input(0), q.strides},
                           .k = {context.Input(1), k.strides},
                           .v = {context.Input(2), v.strides},
                           .scale = static_cast<float>(fused.form.scale),
                           .soft_cap = static_cast<float>(fused.form.soft_cap),
                           .zeroes_nans = fused.zeroes_nans};
  std::optional<std::vector<ScoreMask>> masks = MasksOf(context, fused.form, scores);
  if (!masks.has_value()) return Refusal("a mask that is larger than the scores");
  problem.masks = *std::move(masks);
  for (ScoreMask& mask : problem.masks) {
    std::rotate(mask.operand.strides.begin(), mask.operand.strides.begin() + static_cast<std::ptrdiff_t>(scores.size()),
                mask.operand.strides.end());
  }
  problem.y = y_view.strides;
  if (const Refusal refusal = way.why_not(problem)) return refusal;
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, context.Input(0).dtype(), stored));
  return way.attend(context, problem, *y);
}

constexpr KernelRow kRows[] = {
    {.op_type = "Attention", .function = Attention<kByFewQueries>, .family = "few-rows"},
    {.op_type = "Attention", .function = Attention<kInBlocks>, .family = "onednn"},
};

}  // namespace

absl::Span<const KernelRow> FusedAttentionRows() { return kRows; }

}  // namespace amp
