// The statistics of norms: a mean that broadcasts over its input, and a variance, however written.
//
//   ReduceMean(x)   ReduceSum(x) / 8   ReduceSum(x) * 0.125   ReduceSum(x) / Cast(Gather(Shape(x), -1))     mean of x
//   Unsqueeze or Reshape of what lost its axes: ReduceMean <keepdims = 0> (x); Expand of any of these     the same
//   mean of (x - mean of x)^2   Max(mean of x^2 - (mean of x)^2, 0)                                     variance of x
#ifndef AMP_IR_PATTERNS_MEAN_PATTERN_H_
#define AMP_IR_PATTERNS_MEAN_PATTERN_H_

#include <cstdint>
#include <vector>

#include "ir/patterns/pattern_search.h"

namespace amp {

struct Mean {
  ValueId of = kNone;              // kNone where there is no mean
  std::vector<int64_t> axes = {};  // from the end; empty where they are not known, or not kept
};

// Its nodes join where it is one with axes.
Mean TakeMean(ValueId value, PatternSearch& search);

// x - mean of x, or the other way round where only its square counts: x, and the axes of the mean.
enum class Sign { kCounts, kDoesNotCount };
Mean FindCentred(ValueId difference, Sign sign, const PatternSearch& search);
// The nodes of such a difference join.
void TakeCentred(ValueId difference, PatternSearch& search);

// The value under the root of a norm. Its nodes join, except those of a difference that is squared.
struct Variance {
  ValueId of = kNone;       // the variance of this,
  ValueId squared = kNone;  // or the mean of the square of this, the other one is kNone
  std::vector<int64_t> axes = {};
  Reason why = Reason::None();  // where there is neither
};
Variance TakeVariance(ValueId value, PatternSearch& search);

}  // namespace amp

#endif  // AMP_IR_PATTERNS_MEAN_PATTERN_H_
