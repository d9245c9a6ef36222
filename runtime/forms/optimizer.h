// The functions of domain ai.amp that step weights and loss scales.
//
//   weight, rms = ai.amp.ConditionalRmsprop <rho, epsilon> (apply, weight, gradient, rms, rate)
//   weight, m, v = ai.amp.AdamW <beta1, beta2, epsilon, weight_decay> (weight, gradient, m, v, rate, learning_rate)
//
// `rate` is what AdamRate makes of the learning rate. Unlike operators of ONNX, no attribute has a default.
#ifndef AMP_RUNTIME_FORMS_OPTIMIZER_H_
#define AMP_RUNTIME_FORMS_OPTIMIZER_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "ir/graph/graph.h"
#include "runtime/kernel/fused_optimizer.h"

namespace amp {

// One kind of optimizer.
struct OptimizerForm {
  size_t num_slots;
  const char *first, *second;  // attributes: how much of the slots is kept; null if there is none
  bool has_epsilon, decays;

  constexpr size_t num_rates() const { return decays ? 2 : 1; }
  // Null for what it does not have.
  constexpr OptimizerAttributes Attributes() const {
    return {first, second, has_epsilon ? "epsilon" : nullptr, decays ? "weight_decay" : nullptr};
  }
};
inline constexpr OptimizerForm kSgdForm = {0, nullptr, nullptr, false, false};
inline constexpr OptimizerForm kMomentumForm = {1, "momentum", nullptr, false, false};  // and Nesterov's
inline constexpr OptimizerForm kRmspropForm = {1, "rho", nullptr, true, false};
inline constexpr OptimizerForm kAdamForm = {2, "beta1", "beta2", true, false};
inline constexpr OptimizerForm kAdamWForm = {2, "beta1", "beta2", true, true};

// The attributes of a node; 0 for what its optimizer does not have.
struct OptimizerNumbers {
  float keep_first = 0, keep_second = 0, epsilon = 0, weight_decay = 0;
};
// Errors of all of these: an attribute that is missing.
absl::StatusOr<OptimizerNumbers> ReadOptimizer(const Node& node, const OptimizerForm& form);

struct AdamRateForm {
  float beta1 = 0, beta2 = 0;
};
absl::StatusOr<AdamRateForm> ReadAdamRate(const Node& node);

// A scale that becomes `growth` times as large after `interval` good steps, at most `cap`, and `backoff` times as large
// after a bad one, at least `floor`.
struct LossScaleForm {
  int64_t interval = 0;
  float growth = 0, backoff = 0, floor = 0, cap = 0;
};
absl::StatusOr<LossScaleForm> ReadLossScale(const Node& node);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_OPTIMIZER_H_
