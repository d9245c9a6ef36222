// Activations that other operators apply at their end, by the names that ONNX Runtime gives them in attributes.
#ifndef AMP_RUNTIME_REFERENCE_FUSED_ACTIVATION_H_
#define AMP_RUNTIME_REFERENCE_FUSED_ACTIVATION_H_

#include <functional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace amp {

using Activation = std::function<double(double)>;

// Finds the activation of this name; "" does nothing. `parameters`: alpha and beta, or for Clip the bounds; missing
// ones have the defaults of the operator of that name. Errors: an unknown name.
absl::StatusOr<Activation> FindActivation(absl::string_view name, absl::Span<const float> parameters);

double SigmoidOf(double x);
// x * Phi(x), with the error function, and by a tanh that is close to it.
double GeluOf(double x);
double GeluByTanh(double x);

}  // namespace amp

#endif  // AMP_RUNTIME_REFERENCE_FUSED_ACTIVATION_H_
