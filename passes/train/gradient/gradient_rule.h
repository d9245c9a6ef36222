// The gradient rules, one row per operator.
//
// To add one: write a short function in the file of the operator's family that gives every wanted input its gradient,
// name it in that family's table, and add a case to tests/judge/train/gradient_cases.py, which compares it with central
// differences.
#ifndef AMP_PASSES_TRAIN_GRADIENT_GRADIENT_RULE_H_
#define AMP_PASSES_TRAIN_GRADIENT_GRADIENT_RULE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "passes/train/gradient/backward.h"

namespace amp {

using WriteGradient = absl::Status (*)(Backward& node);

// Inputs that have no gradient whatever their type: bit i stands for input i.
using Ports = uint32_t;
constexpr Ports AllPorts() { return ~Ports{0}; }
constexpr Ports Port(int port) { return Ports{1} << port; }
constexpr Ports PortsFrom(int port) { return ~(Port(port) - 1); }

struct GradientRule {
  absl::string_view op_type;
  WriteGradient write = nullptr;  // null: the results are steps or draws, whose derivative is zero
  Ports stops = 0;                // inputs that no gradient goes into
  Ports outputs = Port(0);        // outputs whose gradients the rule knows what to do with
  absl::string_view domain = "";  // of ai.onnx unless said
  constexpr bool Stops(size_t port) const { return write == nullptr || (port < 32 && (stops & Port(int(port))) != 0); }
};

// Null for an operator without a rule.
const GradientRule* FindGradientRule(absl::string_view domain, absl::string_view op_type);

// The families, each in a file of its name.
absl::Span<const GradientRule> ActivationRules();
absl::Span<const GradientRule> ArithmeticRules();
absl::Span<const GradientRule> ConvolutionRules();
absl::Span<const GradientRule> EinsumRules();
absl::Span<const GradientRule> IndexRules();
absl::Span<const GradientRule> LossRules();
absl::Span<const GradientRule> MatrixRules();
absl::Span<const GradientRule> NormRules();
absl::Span<const GradientRule> PoolRules();
absl::Span<const GradientRule> ReductionRules();
absl::Span<const GradientRule> ShapeRules();
absl::Span<const GradientRule> SoftmaxRules();

}  // namespace amp

#endif  // AMP_PASSES_TRAIN_GRADIENT_GRADIENT_RULE_H_
