// The attributes of BatchNormalization, InstanceNormalization, GroupNormalization, LayerNormalization and their kin.
#ifndef AMP_RUNTIME_FORMS_NORM_H_
#define AMP_RUNTIME_FORMS_NORM_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/kernel/kernel.h"

namespace amp {

struct BatchNormForm {
  float epsilon = 1e-5f, momentum = 0.9f;
  // The node normalises by the batch's statistics and updates the running ones. From opset 14 on an attribute says so,
  // in opsets 7 to 13 outputs for statistics do, and before that the attribute is_test denies it.
  bool trains = false;
  bool is_per_channel = true;  // else each place of an image has statistics of its own, before opset 9
};
BatchNormForm ReadBatchNorm(const KernelContext& context);

struct GroupNormForm {
  float epsilon = 1e-5f;
  int64_t groups = 0;  // of channels; InstanceNormalization: one for each; not checked against the input
  // Before opset 21 GroupNormalization has one scale for each group; all others have one for each channel.
  bool has_scale_of_group = false;
};
GroupNormForm ReadGroupNorm(const KernelContext& context);

struct LayerNormForm {
  size_t axis = 0;  // elements from this axis on belong together
  float epsilon = 1e-5f;
  DType stash_type = DType::kFloat32;  // of statistics; a float type
};
// Errors: kDataLoss, an axis that the input does not have, another stash_type than a type of floats.
absl::StatusOr<LayerNormForm> ReadLayerNorm(const KernelContext& context, float default_epsilon = 1e-5f);

// LRN: each element by a power of the squares in `size` channels around it.
struct NeighbourNormForm {
  int64_t size = 1;  // at least 1
  float alpha = 1e-4f, beta = 0.75f, bias = 1;
};
// Errors: a size below 1.
absl::StatusOr<NeighbourNormForm> ReadNeighbourNorm(const Node& node);

// LpNormalization along an axis.
struct LpNormForm {
  size_t axis = 0;
  int64_t p = 2;  // 1 or 2
};
// Errors: an axis that the input does not have, another p.
absl::StatusOr<LpNormForm> ReadLpNorm(const KernelContext& context);

// The axes that MeanVarianceNormalization takes its moments of, in order, and what it adds to the deviation: of equal
// elements that makes zeros. Errors: axes that the input does not have.
inline constexpr double kLeastDeviation = 1e-9;
absl::StatusOr<std::vector<size_t>> ReadMomentAxes(const KernelContext& context);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_NORM_H_
