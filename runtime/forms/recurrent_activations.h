// The activations of recurrent layers: the attributes activations, activation_alpha and activation_beta.
#ifndef AMP_RUNTIME_FORMS_RECURRENT_ACTIVATIONS_H_
#define AMP_RUNTIME_FORMS_RECURRENT_ACTIVATIONS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/graph/graph.h"

namespace amp {

struct RecurrentActivation {
  double (*function)(double x, double alpha, double beta) = nullptr;
  double alpha = 0, beta = 0;

  double operator()(double x) const { return function(x, alpha, beta); }
};

// Returns the activations of all directions in turn: f, g, h of the first, f, g, h of the second. `defaults`: the names
// for one direction, if the node states none. A parameter that no activation has is ignored, as in ONNX Runtime.
// Errors: fewer names than expected, an unknown name.
absl::StatusOr<std::vector<RecurrentActivation>> ReadActivations(const Node& node, size_t num_directions,
                                                                 absl::Span<const absl::string_view> defaults);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_RECURRENT_ACTIVATIONS_H_
