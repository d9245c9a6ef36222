// SiLU, written out: x * Sigmoid(x).
#ifndef AMP_IR_PATTERNS_SILU_PATTERN_H_
#define AMP_IR_PATTERNS_SILU_PATTERN_H_

#include "ir/patterns/pattern.h"

namespace amp {

// REQUIRES: types are inferred. `anchor`: the sigmoid.
Recognised RecogniseSilu(const Model& model, NodeId anchor);

}  // namespace amp

#endif  // AMP_IR_PATTERNS_SILU_PATTERN_H_
