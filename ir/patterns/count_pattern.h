// How many elements a mean is over, computed at run time from the shape of what it is of.
//
//   Cast(Gather(Shape(x), -1))                             along the last axis
//   Cast(Mul(Gather(Shape(x), 2), Gather(Shape(x), 3)))    along two
//   Cast(ReduceProd(Slice(Shape(x), [1], [3])))            the same of a stretch
//
// Everything but the shape of the very tensor is refused: that another one is as large today says nothing.
#ifndef AMP_IR_PATTERNS_COUNT_PATTERN_H_
#define AMP_IR_PATTERNS_COUNT_PATTERN_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "ir/patterns/pattern_search.h"

namespace amp {

// Whether `count` is the number of elements along these axes, from the end and in order, of a value that `is_subject`.
// Its nodes are of the pattern where nobody else reads them.
bool CountsAlong(ValueId count, const std::vector<int64_t>& axes, const std::function<bool(ValueId)>& is_subject,
                 PatternSearch& search);

}  // namespace amp

#endif  // AMP_IR_PATTERNS_COUNT_PATTERN_H_
