#include "runtime/reference/fused_activation.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "ir/base/status.h"

namespace amp {
namespace {

double SoftplusOf(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

}  // namespace

absl::StatusOr<Activation> FindActivation(absl::string_view name, absl::Span<const float> parameters) {
  const auto parameter = [&](size_t i, float fallback) {
    return static_cast<double>(i < parameters.size() ? parameters[i] : fallback);
  };
  const bool hard_sigmoid = name == "HardSigmoid";
  const double alpha = parameter(0, hard_sigmoid ? 0.2f : name == "LeakyRelu" ? 0.01f : 1);
  const double beta = parameter(1, hard_sigmoid ? 0.5f : 1);
  if (name.empty()) return [](double x) { return x; };
  if (name == "Relu") return [](double x) { return x < 0 ? 0 : x; };
  if (name == "Tanh") return [](double x) { return std::tanh(x); };
  if (name == "Sigmoid") return SigmoidOf;
  if (name == "LeakyRelu") return [alpha](double x) { return x < 0 ? alpha * x : x; };
  if (name == "ThresholdedRelu") return [alpha](double x) { return x > alpha ? x : 0; };
  if (hard_sigmoid) return [alpha, beta](double x) { return std::max(0.0, std::min(1.0, alpha * x + beta)); };
  if (name == "Clip") {
    const double low = parameter(0, -INFINITY), high = parameter(1, INFINITY);
    return [low, high](double x) { return std::min(high, std::max(low, x)); };
  }
  if (name == "Elu") return [alpha](double x) { return x < 0 ? alpha * std::expm1(x) : x; };
  if (name == "Softplus") return SoftplusOf;
  if (name == "ParametricSoftplus") return [alpha, beta](double x) { return alpha * SoftplusOf(beta * x); };
  if (name == "Softsign") return [](double x) { return x / (1 + std::fabs(x)); };
  if (name == "ScaledTanh") return [alpha, beta](double x) { return alpha * std::tanh(beta * x); };
  return ModelError("expected an activation such as Relu, Tanh or Sigmoid, found '", Escaped(std::string(name)), "'");
}

double SigmoidOf(double x) { return 1 / (1 + std::exp(-x)); }

double GeluOf(double x) { return 0.5 * x * std::erfc(-x / std::numbers::sqrt2); }

double GeluByTanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

}  // namespace amp
