// Mean and variance of float32 rows.
#ifndef AMP_RUNTIME_LOOPS_MOMENTS_H_
#define AMP_RUNTIME_LOOPS_MOMENTS_H_

#include "absl/types/span.h"
#include "runtime/loops/raw/loops.h"

namespace amp {

enum class Centre { kMean, kZero };

struct RowMoments {
  double mean, variance;  // around the centre; the mean is 0 where that is zero
};

// REQUIRES: there are elements.
RowMoments MomentsOf(const Loops& loops, absl::Span<const float> row, Centre centre);

// x - mean, divided by the deviation, whose square epsilon is added to.
Affine Normalizing(const RowMoments& moments, double epsilon);

}  // namespace amp

#endif  // AMP_RUNTIME_LOOPS_MOMENTS_H_
