#include "runtime/forms/norm.h"

#include "ir/base/status.h"
#include "ir/graph/attributes.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

bool TrainsBatchNorm(const KernelContext& context) {
  constexpr int kFirstWithoutIsTest = 7, kFirstWithTrainingMode = 14;
  if (context.version() >= kFirstWithTrainingMode) return GetInt(context.node(), "training_mode", 0) != 0;
  if (context.version() < kFirstWithoutIsTest) return GetInt(context.node(), "is_test", 0) == 0;
  return context.HasOutput(1) || context.HasOutput(2) || context.HasOutput(3) || context.HasOutput(4);
}

absl::StatusOr<DType> ReadStashType(const Node& node) {
  const int64_t stated = GetInt(node, "stash_type", static_cast<int64_t>(DType::kFloat32));
  for (const DType type : {DType::kFloat32, DType::kBfloat16, DType::kFloat16, DType::kFloat64}) {
    if (stated == static_cast<int64_t>(type)) return type;
  }
  return ModelError("stash_type: expected a type of floats, found ", stated);
}

}  // namespace

BatchNormForm ReadBatchNorm(const KernelContext& context) {
  constexpr int kFirstWithoutSpatial = 9;
  const Node& node = context.node();
  return {.epsilon = GetFloat(node, "epsilon", 1e-5f),
          .momentum = GetFloat(node, "momentum", 0.9f),
          .trains = TrainsBatchNorm(context),
          .is_per_channel = context.version() >= kFirstWithoutSpatial || GetInt(node, "spatial", 1) != 0};
}

GroupNormForm ReadGroupNorm(const KernelContext& context) {
  constexpr int kFirstWithScaleOfChannel = 21;
  const Node& node = context.node();
  const Tensor& x = context.Input(0);
  const bool is_group = node.op_type() == "GroupNormalization";
  const int64_t channels = x.rank() < 2 ? 0 : x.dim(1);
  return {.epsilon = GetFloat(node, "epsilon", 1e-5f),
          .groups = is_group ? GetInt(node, "num_groups", 0) : channels,
          .has_scale_of_group = is_group && context.version() < kFirstWithScaleOfChannel};
}

absl::StatusOr<LayerNormForm> ReadLayerNorm(const KernelContext& context, float default_epsilon) {
  const Node& node = context.node();
  AMP_ASSIGN_OR_RETURN(const size_t axis, NormalizeAxis(GetInt(node, "axis", -1), context.Input(0).rank()));
  AMP_ASSIGN_OR_RETURN(const DType stash_type, ReadStashType(node));
  return LayerNormForm{.axis = axis, .epsilon = GetFloat(node, "epsilon", default_epsilon), .stash_type = stash_type};
}

absl::StatusOr<NeighbourNormForm> ReadNeighbourNorm(const Node& node) {
  const int64_t size = GetInt(node, "size", 0);
  if (size < 1) return ModelError("size: expected at least 1, found ", size);
  return NeighbourNormForm{.size = size,
                           .alpha = GetFloat(node, "alpha", 1e-4f),
                           .beta = GetFloat(node, "beta", 0.75f),
                           .bias = GetFloat(node, "bias", 1)};
}

absl::StatusOr<LpNormForm> ReadLpNorm(const KernelContext& context) {
  const Node& node = context.node();
  LpNormForm form;
  AMP_ASSIGN_OR_RETURN(form.axis, NormalizeAxis(GetInt(node, "axis", -1), context.Input(0).rank()));
  form.p = GetInt(node, "p", 2);
  if (form.p != 1 && form.p != 2) return ModelError("p: expected 1 or 2, found ", form.p);
  return form;
}

absl::StatusOr<std::vector<size_t>> ReadMomentAxes(const KernelContext& context) {
  const std::vector<int64_t> axes = GetInts(context.node(), "axes").value_or(std::vector<int64_t>{0, 2, 3});
  return NormalizeAxes(axes, context.Input(0).rank());
}

}  // namespace amp
