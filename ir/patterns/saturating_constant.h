// Constants that may become the largest finite value of a narrower type, of their sign, where they lie beyond it: no
// result that the type holds changes.
//
//   Clip(x, min, max)                              nothing narrow lies beyond min or max
//   Softmax(Where(mask, scores, -3.4e38))          what is masked has no share, either way; nor has it where all is
//   Softmax(Reshape(Where(mask, -1e9, scores)))    likewise, behind what moves elements or casts
//   LogSoftmax(Where(mask, scores, -1e9))          the fill is a result                           -> not
//   Softmax(Where(mask, scores, -1e9) + bias)      the sum leaves the range: NaN where all is masked -> not
//   Softmax(Where(mask, scores, 1e9))              what is filled has all of the share, and others too, then -> not
#ifndef AMP_IR_PATTERNS_SATURATING_CONSTANT_H_
#define AMP_IR_PATTERNS_SATURATING_CONSTANT_H_

#include "ir/graph/graph.h"

namespace amp {

// Whether the constant that is read there is such a one. REQUIRES: types are inferred.
bool MaySaturate(const Model& model, const Use& use);

}  // namespace amp

#endif  // AMP_IR_PATTERNS_SATURATING_CONSTANT_H_
