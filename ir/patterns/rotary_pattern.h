// Rotary embedding, written out: every pair of elements of the last axis turns by an angle that its position gives.
//
//   x * cos + Concat(-x2, x1) * sin                                 x1, x2 the halves of x           halves
//   x * cos + Reshape(Concat(Unsqueeze(-odd), Unsqueeze(even))) * sin   every other element of x     interleaved
//   Concat(x1 * cos - x2 * sin, x1 * sin + x2 * cos)                the same of parts of x: halves, or with Unsqueeze
//                                                                   and x [..., size / 2, 2]         last axis
//   Concat(any of these of Slice(x, 0, r), Slice(x, r, size))       the first r elements turn alone
//
// Halves come from Slice or Split, elements of pairs from Slice by steps of 2, Split or Gather.
#ifndef AMP_IR_PATTERNS_ROTARY_PATTERN_H_
#define AMP_IR_PATTERNS_ROTARY_PATTERN_H_

#include "ir/patterns/pattern.h"

namespace amp {

// REQUIRES: types are inferred. `anchor`: the sum of x * cos and the other product, or the Concat of both turned parts.
Recognised RecogniseRotary(const Model& model, NodeId anchor);

}  // namespace amp

#endif  // AMP_IR_PATTERNS_ROTARY_PATTERN_H_
