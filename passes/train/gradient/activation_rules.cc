// Activations: functions of one element, dx = g * f'(x). Where f' can be had from y as well as from x, y is read: what
// follows the activation needs it anyway.
#include <cmath>
#include <numbers>

#include "passes/train/gradient/gradient_rule.h"

namespace amp {
namespace {

template <Term (*Gradient)(Backward&)>
absl::Status OfInput(Backward& node) {
  node.Give(0, Gradient(node));
  return absl::OkStatus();
}

Term Relu(Backward& node) { return Where(node.Output() > 0, node.Gradient(), 0); }

Term LeakyRelu(Backward& node) {
  return Where(node.Input(0) < 0, node.Gradient() * node.Float("alpha", 0.01f), node.Gradient());
}

Term ThresholdedRelu(Backward& node) { return Where(node.Input(0) > node.Float("alpha", 1), node.Gradient(), 0); }

// Below zero y = alpha (e^x - 1), whose derivative is y + alpha.
Term Elu(Backward& node) {
  const Term& g = node.Gradient();
  return Where(node.Input(0) < 0, g * (node.Output() + node.Float("alpha", 1)), g);
}

Term Celu(Backward& node) {
  const Term& g = node.Gradient();
  const Term x = node.Input(0);
  return Where(x < 0, g * Exp(Where(x < 0, x, 0) / node.Float("alpha", 1)), g);
}

Term Selu(Backward& node) {
  const double alpha = node.Float("alpha", 1.67326319217681884765625f);
  const double gamma = node.Float("gamma", 1.05070102214813232421875f);
  const Term& g = node.Gradient();
  return g * Where(node.Input(0) > 0, gamma, node.Output() + alpha * gamma);
}

Term Softplus(Backward& node) { return node.Gradient() * Sigmoid(node.Input(0)); }

Term Softsign(Backward& node) {
  const Term root = 1 + node.write().Op("Abs", {node.Input(0)});
  return node.Gradient() / (root * root);
}

Term OfSigmoid(Backward& node) {
  const Term y = node.Output();
  return node.Gradient() * y * (1 - y);
}

Term HardSigmoid(Backward& node) {
  const Term x = node.Input(0);
  const double alpha = node.Float("alpha", 0.2f), beta = node.Float("beta", 0.5f);
  const Term inner = alpha * x + beta;
  return Where(And(inner > 0, inner < 1), node.Gradient() * alpha, 0);
}

Term HardSwish(Backward& node) {
  const Term x = node.Input(0);
  const Term& g = node.Gradient();
  return Where(x < -3, 0, Where(x > 3, g, g * (x / 3 + 0.5)));
}

Term OfTanh(Backward& node) {
  const Term y = node.Output();
  return node.Gradient() * (1 - y * y);
}

Term Erf(Backward& node) {
  const Term x = node.Input(0);
  return node.Gradient() * (2 * std::numbers::inv_sqrtpi) * Exp(-(x * x));
}

Term ExactGelu(const Term& x, const Term& g) {
  const Term share = 0.5 * (1 + x.writer().Op("Erf", {x / std::numbers::sqrt2}));
  const Term density = Exp(-0.5 * (x * x)) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  return g * (share + x * density);
}

// y = x / 2 (1 + tanh (c (x + 0.044715 x^3))), c = sqrt (2 / pi)
Term TanhGelu(const Term& x, const Term& g) {
  const double c = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, cubic = 0.044715;
  const Term square = x * x;
  const Term t = Tanh(c * x * (1 + cubic * square));
  return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * (c * (1 + 3 * cubic * square)));
}

Term Gelu(Backward& node) {
  return node.String("approximate", "none") == "tanh" ? TanhGelu(node.Input(0), node.Gradient())
                                                      : ExactGelu(node.Input(0), node.Gradient());
}

Term Mish(Backward& node) {
  const Term x = node.Input(0);
  const Term t = Tanh(node.write().Op("Softplus", {x}));
  return node.Gradient() * (t + x * (1 - t * t) * Sigmoid(x));
}

Term Swish(Backward& node) {
  const Term x = node.Input(0);
  const double alpha = node.Float("alpha", 1);
  const Term s = Sigmoid(alpha * x);
  return node.Gradient() * (s + alpha * x * s * (1 - s));
}

absl::Status PRelu(Backward& node) {
  const Term x = node.Input(0);
  const Term& g = node.Gradient();
  node.Give(0, Where(x < 0, g * node.Input(1), g));
  if (node.Wants(1)) node.GiveBroadcast(1, Where(x < 0, g * x, 0));
  return absl::OkStatus();
}

// A result that a bound gave changes with the bound. min > max: everything is max.
absl::Status Clip(Backward& node) {
  const Term x = node.Input(0);
  const Term& g = node.Gradient();
  Term passed = g;
  if (node.HasInput(1)) {
    const Term is_below = Less(x, node.Input(1));
    passed = Where(is_below, 0, passed);
    if (node.Wants(1)) node.GiveBroadcast(1, Where(is_below, g, 0));
  }
  if (node.HasInput(2)) {
    const Term is_above = Greater(x, node.Input(2));
    passed = Where(is_above, 0, passed);
    if (node.Wants(2)) node.GiveBroadcast(2, Where(is_above, g, 0));
  }
  node.Give(0, passed);
  return absl::OkStatus();
}

constexpr GradientRule kRules[] = {
    {"Celu", OfInput<Celu>},
    {"Clip", Clip},
    {"Elu", OfInput<Elu>},
    {"Erf", OfInput<Erf>},
    {"Gelu", OfInput<Gelu>},
    {"HardSigmoid", OfInput<HardSigmoid>},
    {"HardSwish", OfInput<HardSwish>},
    {"LeakyRelu", OfInput<LeakyRelu>},
    {"Mish", OfInput<Mish>},
    {"PRelu", PRelu},
    {"Relu", OfInput<Relu>},
    {"Selu", OfInput<Selu>},
    {"Sigmoid", OfInput<OfSigmoid>},
    {"Softplus", OfInput<Softplus>},
    {"Softsign", OfInput<Softsign>},
    {"Swish", OfInput<Swish>},
    {"Tanh", OfInput<OfTanh>},
    {"ThresholdedRelu", OfInput<ThresholdedRelu>},
};

}  // namespace

absl::Span<const GradientRule> ActivationRules() { return kRules; }

}  // namespace amp
