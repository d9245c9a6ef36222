// GroupNorm, written as a norm between two reshapes.
//
//   r = Reshape(x, [0, G, -1])   n = InstanceNormalization(r, ones, zeros)   y = Reshape(n, Shape(x)) * scale + shift
//
// or with the norm between written out too, over all axes behind the groups.
#ifndef AMP_IR_PATTERNS_GROUP_NORM_PATTERN_H_
#define AMP_IR_PATTERNS_GROUP_NORM_PATTERN_H_

#include "ir/patterns/pattern.h"

namespace amp {

// REQUIRES: types are inferred. `anchor`: the reshape back to x's shape.
Recognised RecogniseGroupNorm(const Model& model, NodeId anchor);

}  // namespace amp

#endif  // AMP_IR_PATTERNS_GROUP_NORM_PATTERN_H_
