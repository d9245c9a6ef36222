#include "runtime/loops/fused_norms.h"

#include "runtime/loops/float_parts.h"
#include "runtime/loops/normalize.h"

namespace amp {
namespace {

constexpr RowNorm::Ports kScaleAndShift = {
    .skip = 0, .scale = 1, .bias = 2, .row_bias = 0, .mean = 0, .inverse_deviation = 0, .sum = 0};

const NormForm& FormOf(KernelContext& context) { return context.State<NormForm>(); }

constexpr char kOtherRank[] = "an input of another rank";

absl::Status NormalizeLastAxes(KernelContext& context) {
  const NormForm& form = FormOf(context);
  const size_t rank = context.Input(0).rank();
  if (rank < form.num_axes) return Refusal(kOtherRank);
  const size_t axis = rank - form.num_axes;
  if (const Refusal refusal = WhyNotRows(context, kScaleAndShift, axis)) return refusal;
  return NormalizeRows(context, {.ports = kScaleAndShift,
                                 .centre = form.kind == PatternKind::kRmsNorm ? Centre::kZero : Centre::kMean,
                                 .axis = axis,
                                 .epsilon = form.epsilon,
                                 .stored_as = form.stored_as});
}

absl::Status NormalizeChannels(KernelContext& context) {
  const NormForm& form = FormOf(context);
  const Tensor& x = context.Input(0);
  const bool is_of_channels = form.kind == PatternKind::kInstanceNorm;
  if (is_of_channels && x.rank() != form.num_axes + 2) return Refusal(kOtherRank);
  const int64_t groups = is_of_channels ? x.dim(1) : form.groups;
  if (const Refusal refusal = WhyNotGroups(context, groups)) return refusal;
  return NormalizeGroups(context, {.groups = groups, .epsilon = form.epsilon, .stored_as = form.stored_as});
}

absl::Status NormalizeExponentials(KernelContext& context) {
  const NormForm& form = FormOf(context);
  const Tensor& x = context.Input(0);
  if (!IsLoopFloat(x.dtype()) || x.dtype() != form.stored_as) return Refusal(kNoLoopFloat);
  if (x.rank() < form.num_axes) return Refusal(kOtherRank);
  const AxisView view(x.dims(), x.rank() - form.num_axes);
  return form.kind == PatternKind::kSoftmax ? SoftmaxAlong(context, view) : LogSoftmaxAlong(context, view);
}

constexpr KernelRow Row(absl::string_view name, KernelFunction function) {
  return {.op_type = name, .function = function, .family = "loops"};
}

constexpr KernelRow kLayerNorm = Row("LayerNorm", NormalizeLastAxes), kRmsNorm = Row("RMSNorm", NormalizeLastAxes),
                    kInstanceNorm = Row("InstanceNorm", NormalizeChannels),
                    kGroupNorm = Row("GroupNorm", NormalizeChannels), kSoftmax = Row("Softmax", NormalizeExponentials),
                    kLogSoftmax = Row("LogSoftmax", NormalizeExponentials);

}  // namespace

const KernelRow* FindNormRow(PatternKind kind) {
  switch (kind) {
    case PatternKind::kLayerNorm:
      return &kLayerNorm;
    case PatternKind::kRmsNorm:
      return &kRmsNorm;
    case PatternKind::kInstanceNorm:
      return &kInstanceNorm;
    case PatternKind::kGroupNorm:
      return &kGroupNorm;
    case PatternKind::kSoftmax:
      return &kSoftmax;
    case PatternKind::kLogSoftmax:
      return &kLogSoftmax;
    case PatternKind::kLogSumExp:
    case PatternKind::kGelu:
    case PatternKind::kTanhGelu:
    case PatternKind::kSilu:
    case PatternKind::kHardSwish:
    case PatternKind::kAttention:
    case PatternKind::kRotary:
      return nullptr;
  }
  return nullptr;
}

}  // namespace amp
