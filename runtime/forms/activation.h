// The numbers of activations and tests of one element: attributes with defaults that depend on the operator, and how
// Gelu is to be computed.
#ifndef AMP_RUNTIME_FORMS_ACTIVATION_H_
#define AMP_RUNTIME_FORMS_ACTIVATION_H_

#include "absl/status/statusor.h"
#include "ir/graph/graph.h"

namespace amp {

// The operator's first and second attribute; 0 where it has none:
//   Celu, Elu, LeakyRelu, Swish, ThresholdedRelu, QuickGelu, QLinearLeakyRelu   alpha
//   Affine, HardSigmoid, ParametricSoftplus, ScaledTanh                         alpha, beta
//   Scale                                                                       scale
//   Selu                                                                        alpha, gamma
//   Shrink                                                                      bias, lambd
struct ActivationNumbers {
  float a = 0, b = 0;
};
ActivationNumbers ReadActivation(const Node& node, int version);

// Whether by tanh, and not by erf. Errors: kDataLoss, another value of `approximate` than none and tanh.
absl::StatusOr<bool> IsGeluByTanh(const Node& node);

// The infinities that IsInf finds.
struct InfinitiesFound {
  bool negative = true, positive = true;
};
InfinitiesFound ReadInfinities(const Node& node);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_ACTIVATION_H_
