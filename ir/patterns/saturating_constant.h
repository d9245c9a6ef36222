// Constants that may become the largest finite value of a narrower type, of their sign, where they lie beyond it: no
// result that the type holds changes.
//
//   Clip(x, min, max)                              nothing narrow lies beyond min or max
//   Softmax(Where(mask, scores, -3.4e38))          what is masked has no share, either way; nor has it where all is
//   Softmax(Reshape(Where(mask, -1e9, scores)))    likewise, behind what moves elements or casts
//   LogSoftmax(Where(mask, scores, -1e9))          the fill is a result                                    -> not
//   Softmax(Where(mask, scores, -1e9) + bias)      the sum leaves the range: NaN where all is masked       -> not
//   Softmax(Where(mask, scores, 1e9))              what is filled would share with what else is as large   -> not
//   Softmax(Where(mask, -1e8, -1e9))               two that differ would be one                            -> not
//
// Not obvious: one narrow copy is made of a constant, which has to saturate for all its readers. A fill that other
// nodes than fills and bounds read does not count.
#ifndef AMP_IR_PATTERNS_SATURATING_CONSTANT_H_
#define AMP_IR_PATTERNS_SATURATING_CONSTANT_H_

#include "ir/graph/graph.h"

namespace amp {

// Whether the constant that is read there is such a one. Casts that are inserted behind it change nothing about that.
// REQUIRES: types are inferred.
bool MaySaturate(const Model& model, const Use& use);
// Whether the use is a bound: for constants that are cast at run time, where they become infinite.
bool IsClipBound(const Model& model, const Use& use);

// Whether the value holds such a fill, for a Softmax: it has the fill's magnitude, which says nothing of the others.
bool IsFilledForSoftmax(const Model& model, ValueId value);

}  // namespace amp

#endif  // AMP_IR_PATTERNS_SATURATING_CONSTANT_H_
