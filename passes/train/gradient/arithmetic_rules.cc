// Arithmetic, element by element with broadcasting: what goes to an operand is summed along the axes along which that
// was repeated.
#include "ir/graph/constant.h"
#include "passes/train/gradient/gradient_rule.h"

namespace amp {
namespace {

template <Term (*Gradient)(Backward&)>
absl::Status OfInput(Backward& node) {
  node.Give(0, Gradient(node));
  return absl::OkStatus();
}

absl::Status Add(Backward& node) {
  for (size_t port = 0; port < node.num_inputs(); ++port) {
    if (node.Wants(port)) node.GiveBroadcast(port, node.Gradient());
  }
  return absl::OkStatus();
}

absl::Status Mean(Backward& node) {
  const Term share = node.Gradient() / static_cast<double>(node.num_inputs());
  for (size_t port = 0; port < node.num_inputs(); ++port) {
    if (node.Wants(port)) node.GiveBroadcast(port, share);
  }
  return absl::OkStatus();
}

absl::Status Sub(Backward& node) {
  if (node.Wants(0)) node.GiveBroadcast(0, node.Gradient());
  if (node.Wants(1)) node.GiveBroadcast(1, -node.Gradient());
  return absl::OkStatus();
}

absl::Status Mul(Backward& node) {
  for (const size_t port : {size_t{0}, size_t{1}}) {
    if (node.Wants(port)) node.GiveBroadcast(port, node.Gradient() * node.Input(1 - port));
  }
  return absl::OkStatus();
}

absl::Status Div(Backward& node) {
  const Term by_divisor = node.Gradient() / node.Input(1);
  if (node.Wants(0)) node.GiveBroadcast(0, by_divisor);
  if (node.Wants(1)) node.GiveBroadcast(1, -(by_divisor * node.Output()));
  return absl::OkStatus();
}

// e x^(e - 1), without 0 * infinity at x = 0: for e = 0 the power is not taken.
Term PowerSlope(Backward& node) {
  const Term x = node.Input(0), e = Cast(node.Input(1), x.dtype());
  const auto constant = ScalarConstant(node.model(), node.InputId(1));
  if (!constant.has_value()) {
    const Term is_zero = IsEqual(e, node.write().Number(0, e.dtype()));
    return Where(is_zero, 0, e * node.write().Op("Pow", {x, Where(is_zero, 1, e - 1)}));
  }
  if (*constant == 2) return x * 2;
  return node.write().Op("Pow", {x, node.write().Number(*constant - 1, x.dtype())}) * *constant;
}

absl::Status Pow(Backward& node) {
  const Term& g = node.Gradient();
  const auto constant = ScalarConstant(node.model(), node.InputId(1));
  if (node.Wants(0)) {
    const bool is_flat = constant == 0, is_straight = constant == 1;
    const Term gradient = is_flat ? node.write().ZerosLike(node.OutputId()) : is_straight ? g : g * PowerSlope(node);
    node.GiveBroadcast(0, gradient);
  }
  if (node.Wants(1)) {  // y log x, and 0 at x = 0
    const Term x = node.Input(0);
    const Term is_zero = IsEqual(x, node.write().Number(0, x.dtype()));
    node.GiveBroadcast(1,
                       Cast(g * Where(is_zero, 0, node.Output() * Log(Where(is_zero, 1, x))), node.Input(1).dtype()));
  }
  return absl::OkStatus();
}

// If several operands are the largest, each gets an equal share of the gradient.
absl::Status Extreme(Backward& node) {
  const Term y = node.Output();
  std::vector<Term> is_chosen;
  is_chosen.reserve(node.num_inputs());
  for (size_t port = 0; port < node.num_inputs(); ++port) {
    is_chosen.push_back(Cast(IsEqual(node.Input(port), y), y.dtype()));
  }
  Term count = is_chosen.front();
  for (size_t port = 1; port < is_chosen.size(); ++port) count = count + is_chosen[port];
  const Term share = is_chosen.size() == 1 ? node.Gradient() : node.Gradient() / count;
  for (size_t port = 0; port < node.num_inputs(); ++port) {
    if (node.Wants(port)) node.GiveBroadcast(port, is_chosen.size() == 1 ? share : share * is_chosen[port]);
  }
  return absl::OkStatus();
}

Term Abs(Backward& node) { return node.Gradient() * node.write().Op("Sign", {node.Input(0)}); }
Term Neg(Backward& node) { return -node.Gradient(); }
Term OfExp(Backward& node) { return node.Gradient() * node.Output(); }
Term OfLog(Backward& node) { return node.Gradient() / node.Input(0); }
Term OfSqrt(Backward& node) { return node.Gradient() / (2 * node.Output()); }
Term Reciprocal(Backward& node) { return -(node.Gradient() * node.Output() * node.Output()); }
Term Sin(Backward& node) { return node.Gradient() * node.write().Op("Cos", {node.Input(0)}); }
Term Cos(Backward& node) { return -(node.Gradient() * node.write().Op("Sin", {node.Input(0)})); }
Term Tan(Backward& node) { return node.Gradient() * (1 + node.Output() * node.Output()); }
Term Sinh(Backward& node) { return node.Gradient() * node.write().Op("Cosh", {node.Input(0)}); }
Term Cosh(Backward& node) { return node.Gradient() * node.write().Op("Sinh", {node.Input(0)}); }
Term Square(Backward& node) { return node.Input(0) * node.Input(0); }
Term Asin(Backward& node) { return node.Gradient() / Sqrt(1 - Square(node)); }
Term Acos(Backward& node) { return -(node.Gradient() / Sqrt(1 - Square(node))); }
Term Atan(Backward& node) { return node.Gradient() / (1 + Square(node)); }
Term Asinh(Backward& node) { return node.Gradient() / Sqrt(Square(node) + 1); }
Term Acosh(Backward& node) { return node.Gradient() / Sqrt(Square(node) - 1); }
Term Atanh(Backward& node) { return node.Gradient() / (1 - Square(node)); }

absl::Status OfWhere(Backward& node) {
  const Term condition = node.Input(0);
  if (node.Wants(1)) node.GiveBroadcast(1, Where(condition, node.Gradient(), 0));
  if (node.Wants(2)) node.GiveBroadcast(2, Where(condition, 0, node.Gradient()));
  return absl::OkStatus();
}

absl::Status OfCast(Backward& node) {
  node.Give(0, Cast(node.Gradient(), node.Input(0).dtype()));
  return absl::OkStatus();
}

constexpr GradientRule kRules[] = {
    {"Abs", OfInput<Abs>},
    {"Acos", OfInput<Acos>},
    {"Acosh", OfInput<Acosh>},
    {"Add", Add},
    {"Asin", OfInput<Asin>},
    {"Asinh", OfInput<Asinh>},
    {"Atan", OfInput<Atan>},
    {"Atanh", OfInput<Atanh>},
    {"Cast", OfCast},
    {"CastLike", OfCast, Port(1)},
    {"Cos", OfInput<Cos>},
    {"Cosh", OfInput<Cosh>},
    {"Div", Div},
    {"Exp", OfInput<OfExp>},
    {"Log", OfInput<OfLog>},
    {"Max", Extreme},
    {"Mean", Mean},
    {"Min", Extreme},
    {"Mul", Mul},
    {"Neg", OfInput<Neg>},
    {"Pow", Pow},
    {"Reciprocal", OfInput<Reciprocal>},
    {"Sin", OfInput<Sin>},
    {"Sinh", OfInput<Sinh>},
    {"Sqrt", OfInput<OfSqrt>},
    {"Sub", Sub},
    {"Sum", Add},
    {"Tan", OfInput<Tan>},
    {"Where", OfWhere, Port(0)},
    // Steps: constant almost everywhere.
    {"Ceil"},
    {"Floor"},
    {"Round"},
    {"Sign"},
    // Random numbers in the shape of a tensor.
    {"Bernoulli"},
    {"EyeLike"},
    {"RandomNormalLike"},
    {"RandomUniformLike"},
};

}  // namespace

absl::Span<const GradientRule> ArithmeticRules() { return kRules; }

}  // namespace amp
