// HardSwish, written out: x * Clip(x + 3, 0, 6) / 6, divided before or after the product, or x * HardSigmoid(x) of
// slope 1/6.
#ifndef AMP_IR_PATTERNS_HARD_SWISH_PATTERN_H_
#define AMP_IR_PATTERNS_HARD_SWISH_PATTERN_H_

#include "ir/patterns/pattern.h"

namespace amp {

// REQUIRES: types are inferred. `anchor`: the clip, or the hard sigmoid.
Recognised RecogniseHardSwish(const Model& model, NodeId anchor);

}  // namespace amp

#endif  // AMP_IR_PATTERNS_HARD_SWISH_PATTERN_H_
