#include "runtime/forms/optimizer.h"

#include <optional>

#include "absl/strings/string_view.h"
#include "ir/base/status.h"
#include "ir/graph/attributes.h"

namespace amp {
namespace {

absl::StatusOr<float> ReadFloat(const Node& node, absl::string_view name) {
  const std::optional<float> value = GetFloat(node, name);
  if (!value.has_value()) return ModelError("expected the attribute ", name, ", found none");
  return *value;
}

absl::StatusOr<float> ReadFloatIfNamed(const Node& node, const char* name) {
  return name == nullptr ? 0.0f : ReadFloat(node, name);
}

}  // namespace

absl::StatusOr<OptimizerNumbers> ReadOptimizer(const Node& node, const OptimizerForm& form) {
  const auto [first, second, epsilon, weight_decay] = form.Attributes();
  OptimizerNumbers numbers;
  AMP_ASSIGN_OR_RETURN(numbers.keep_first, ReadFloatIfNamed(node, first));
  AMP_ASSIGN_OR_RETURN(numbers.keep_second, ReadFloatIfNamed(node, second));
  AMP_ASSIGN_OR_RETURN(numbers.epsilon, ReadFloatIfNamed(node, epsilon));
  AMP_ASSIGN_OR_RETURN(numbers.weight_decay, ReadFloatIfNamed(node, weight_decay));
  return numbers;
}

absl::StatusOr<AdamRateForm> ReadAdamRate(const Node& node) {
  AdamRateForm form;
  AMP_ASSIGN_OR_RETURN(form.beta1, ReadFloat(node, "beta1"));
  AMP_ASSIGN_OR_RETURN(form.beta2, ReadFloat(node, "beta2"));
  return form;
}

absl::StatusOr<LossScaleForm> ReadLossScale(const Node& node) {
  LossScaleForm form;
  const std::optional<int64_t> interval = GetInt(node, "interval");
  if (!interval.has_value()) return ModelError("expected the attribute interval, found none");
  form.interval = *interval;
  AMP_ASSIGN_OR_RETURN(form.growth, ReadFloat(node, "growth"));
  AMP_ASSIGN_OR_RETURN(form.backoff, ReadFloat(node, "backoff"));
  AMP_ASSIGN_OR_RETURN(form.floor, ReadFloat(node, "floor"));
  AMP_ASSIGN_OR_RETURN(form.cap, ReadFloat(node, "cap"));
  return form;
}

}  // namespace amp
