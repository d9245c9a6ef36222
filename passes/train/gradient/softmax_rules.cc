// Softmax and its logarithm.
//
//   y = Softmax (x):      dx = y (g - sum (g y))
//   y = LogSoftmax (x):   dx = g - e^y sum (g)
//
// From opset 13 on, which rules are written for, the axis is one axis; PrepareForTraining makes older models that.
#include "passes/train/gradient/gradient_rule.h"

namespace amp {
namespace {

absl::Status Softmax(Backward& node) {
  const Term y = node.Output();
  const Term product = node.Gradient() * y;
  node.Give(0, product - y * Sum(product, {node.Int("axis", -1)}, KeepDims::kYes));
  return absl::OkStatus();
}

absl::Status LogSoftmax(Backward& node) {
  const Term& g = node.Gradient();
  node.Give(0, g - Exp(node.Output()) * Sum(g, {node.Int("axis", -1)}, KeepDims::kYes));
  return absl::OkStatus();
}

constexpr GradientRule kRules[] = {
    {"LogSoftmax", LogSoftmax},
    {"Softmax", Softmax},
};

}  // namespace

absl::Span<const GradientRule> SoftmaxRules() { return kRules; }

}  // namespace amp
