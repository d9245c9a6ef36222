// Sums over float32 elements that runs with rounded values are judged by.
#ifndef AMP_RUNTIME_ROUNDING_SUMS_H_
#define AMP_RUNTIME_ROUNDING_SUMS_H_

#include "absl/types/span.h"
#include "ir/base/dtype.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// The float32 tensor that it is, if that has elements; else null.
const Tensor* Float32Of(const Datum* datum);

// Whether all elements are finite.
bool AreFinite(absl::Span<const float> elements);

// The sum of the squares of those that are finite.
double SumOfSquares(absl::Span<const float> elements);

// The sum of squared differences, over the elements that are finite in both. REQUIRES: equally many.
double SquaredChange(absl::Span<const float> from, absl::Span<const float> to);

// The effect of roundings, by a factor for each element that says how much it counts.
struct RoundingEffect {
  double squared_roundings = 0;  // the sum of r²
  double squared_factors = 0;    // the sum of g², only where squared_roundings is 0
  double squared_products = 0;   // the sum of (r · g)²: of independent roundings
  double product = 0;            // the sum of r · g: of roundings that stay what they are
};
// r: what rounding to the low type adds to an element; 0 where it is not finite in that type. REQUIRES: equally many.
RoundingEffect EffectOfRounding(absl::Span<const float> elements, DType low, absl::Span<const float> factors);

}  // namespace amp

#endif  // AMP_RUNTIME_ROUNDING_SUMS_H_
