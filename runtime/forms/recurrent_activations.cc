#include "runtime/forms/recurrent_activations.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/match.h"
#include "ir/base/status.h"
#include "ir/graph/attributes.h"

namespace amp {
namespace {

struct Row {
  absl::string_view name;
  double (*function)(double x, double alpha, double beta);
  bool has_alpha = false, has_beta = false;
  double alpha = 0, beta = 0;  // defaults: those of the operator of that name
};

constexpr Row kActivations[] = {
    {"Relu", [](double x, double, double) { return x < 0 ? 0 : x; }},
    {"Tanh", [](double x, double, double) { return std::tanh(x); }},
    {"Sigmoid", [](double x, double, double) { return 1 / (1 + std::exp(-x)); }},
    {"Affine", [](double x, double alpha, double beta) { return alpha * x + beta; }, true, true, 1.0, 0.0},
    {"LeakyRelu", [](double x, double alpha, double) { return x < 0 ? alpha * x : x; }, true, false, 0.01},
    {"ThresholdedRelu", [](double x, double alpha, double) { return x < alpha ? 0 : x; }, true, false, 1.0},
    {"ScaledTanh", [](double x, double alpha, double beta) { return alpha * std::tanh(beta * x); }, true, true, 1.0,
     1.0},
    {"HardSigmoid", [](double x, double alpha, double beta) { return std::clamp(alpha * x + beta, 0.0, 1.0); }, true,
     true, 0.2, 0.5},
    {"Elu", [](double x, double alpha, double) { return x < 0 ? alpha * std::expm1(x) : x; }, true, false, 1.0},
    {"Softsign", [](double x, double, double) { return x / (1 + std::fabs(x)); }},
    {"Softplus", [](double x, double, double) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }},
};

absl::StatusOr<const Row*> FindActivation(absl::string_view name) {
  for (const Row& row : kActivations) {
    if (absl::EqualsIgnoreCase(row.name, name)) return &row;
  }
  return ModelError("expected an activation of a recurrent layer, found '", Escaped(name), "'");
}

// Values of alpha or beta, handed out to the functions in order. A list as long as that of the functions has one for
// each; a shorter one only for those that have such a parameter.
class Parameters {
 public:
  Parameters(std::vector<float> values, size_t num_functions)
      : values_(std::move(values)), one_for_each_(values_.size() == num_functions) {}

  double Take(bool is_parameter, double fallback) {
    if (!is_parameter && !one_for_each_) return fallback;
    if (next_ == values_.size()) return fallback;
    const double value = values_[next_++];
    return is_parameter ? value : fallback;
  }

 private:
  std::vector<float> values_;
  bool one_for_each_;
  size_t next_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<RecurrentActivation>> ReadActivations(const Node& node, size_t num_directions,
                                                                 absl::Span<const absl::string_view> defaults) {
  const size_t expected = num_directions * defaults.size();
  std::vector<std::string> names = GetStrings(node, "activations").value_or(std::vector<std::string>());
  if (names.empty()) {
    for (size_t i = 0; i < expected; ++i) names.emplace_back(defaults[i % defaults.size()]);
  }
  // The schema of RNN gives two names as its default, for one direction too.
  if (names.size() < expected) return ModelError("expected ", expected, " activations, found ", names.size());
  names.resize(expected);
  Parameters alphas(GetFloats(node, "activation_alpha").value_or(std::vector<float>()), expected);
  Parameters betas(GetFloats(node, "activation_beta").value_or(std::vector<float>()), expected);
  std::vector<RecurrentActivation> activations;
  for (const std::string& name : names) {
    AMP_ASSIGN_OR_RETURN(const Row* row, FindActivation(name));
    activations.push_back({.function = row->function,
                           .alpha = alphas.Take(row->has_alpha, row->alpha),
                           .beta = betas.Take(row->has_beta, row->beta)});
  }
  return activations;
}

}  // namespace amp
