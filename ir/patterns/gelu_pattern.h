// GELU, written out: x / 2 (1 + Erf(x / sqrt 2)), or x / 2 (1 + Tanh(sqrt(2 / pi) (x + 0.044715 x^3))), the three
// factors in any order.
#ifndef AMP_IR_PATTERNS_GELU_PATTERN_H_
#define AMP_IR_PATTERNS_GELU_PATTERN_H_

#include "ir/patterns/pattern.h"

namespace amp {

// REQUIRES: types are inferred. `anchor`: the error function or the hyperbolic tangent.
Recognised RecogniseGelu(const Model& model, NodeId anchor);

}  // namespace amp

#endif  // AMP_IR_PATTERNS_GELU_PATTERN_H_
