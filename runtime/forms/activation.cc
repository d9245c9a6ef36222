#include "runtime/forms/activation.h"

#include <string>

#include "absl/strings/string_view.h"
#include "ir/base/status.h"
#include "ir/graph/attributes.h"

namespace amp {
namespace {

struct Row {
  absl::string_view op_type;
  const char *a, *b;  // attributes; null: none
  float default_a, default_b;
  int first_version = 1;
};

constexpr Row kRows[] = {
    {"Affine", "alpha", "beta", 1, 0},
    {"Celu", "alpha", nullptr, 1, 0},
    {"Elu", "alpha", nullptr, 1, 0},
    {"HardSigmoid", "alpha", "beta", 0.2f, 0.5f},
    {"LeakyRelu", "alpha", nullptr, 0.01f, 0},
    {"ParametricSoftplus", "alpha", "beta", 1, 1},
    {"QLinearLeakyRelu", "alpha", nullptr, 0.01f, 0},
    {"QuickGelu", "alpha", nullptr, 1.702f, 0},
    {"Scale", "scale", nullptr, 1, 0},
    {"ScaledTanh", "alpha", "beta", 1, 1},
    {"Selu", "alpha", "gamma", 1.67326319217681884765625f, 1.05070102214813232421875f, 6},
    {"Selu", "alpha", "gamma", 1.6732f, 1.0507f},  // opset 1 has fewer digits
    {"Shrink", "bias", "lambd", 0, 0.5f},
    {"Swish", "alpha", nullptr, 1, 0},
    {"ThresholdedRelu", "alpha", nullptr, 1, 0},
};

}  // namespace

ActivationNumbers ReadActivation(const Node& node, int version) {
  for (const Row& row : kRows) {
    if (node.op_type() != row.op_type || version < row.first_version) continue;
    return {.a = GetFloat(node, row.a, row.default_a),
            .b = row.b == nullptr ? 0 : GetFloat(node, row.b, row.default_b)};
  }
  return {};
}

absl::StatusOr<bool> IsGeluByTanh(const Node& node) {
  const std::string approximate = GetString(node, "approximate", "none");
  if (approximate == "none" || approximate == "tanh") return approximate == "tanh";
  return ModelError("approximate: expected none or tanh, found '", Escaped(approximate), "'");
}

InfinitiesFound ReadInfinities(const Node& node) {
  return {.negative = GetInt(node, "detect_negative", 1) != 0, .positive = GetInt(node, "detect_positive", 1) != 0};
}

}  // namespace amp
