// The roundings of a low type, and how much of them readers bear.
//
// The figures below `tiny` are of measurements on small graphs with inputs: bounds that keep outputs within what
// `--verify` allows for the type, and that real models do not break without need.
#ifndef AMP_PASSES_DEMAND_TOLERANCE_H_
#define AMP_PASSES_DEMAND_TOLERANCE_H_

#include "ir/base/convert.h"
#include "ir/base/dtype.h"

namespace amp {

inline constexpr double kMaskFill = 1e4;  // magnitudes from here on are fills of masks

struct Tolerance {
  double unit = 0;         // a rounding of 1
  double tiny = 0;         // a rounding of what is nearly 0; 0 where the type has float32's exponents
  double largest = 0;      // finite
  double share = 0;        // of the distance from a pole
  double angle = 0;        // radians
  double pixel = 0;        // of a picture that is sampled
  double carried_sum = 0;  // roundings of a state together
};

// REQUIRES: kFloat16 or kBfloat16.
inline Tolerance ToleranceOf(DType low) {
  constexpr double kHalfLeastFloat16 = 0x1p-25;
  const double largest = LargestFinite(low);
  if (low == DType::kFloat16) {
    return {.unit = 0x1p-11,
            .tiny = kHalfLeastFloat16,
            .largest = largest,
            .share = 0.02,
            .angle = 0.05,
            .pixel = 1.0 / 16,
            .carried_sum = 0.04};
  }
  return {
      .unit = 0x1p-8, .tiny = 0, .largest = largest, .share = 0.1, .angle = 0.25, .pixel = 1.0 / 8, .carried_sum = 0.3};
}

}  // namespace amp

#endif  // AMP_PASSES_DEMAND_TOLERANCE_H_
