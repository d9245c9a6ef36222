// Sums and products of sizes that a file declares: what leaves the range of int64 stays at its largest value.
#ifndef AMP_IR_BASE_SATURATED_H_
#define AMP_IR_BASE_SATURATED_H_

#include <cstdint>

namespace amp {

// REQUIRES: neither is negative.
inline int64_t SaturatedSum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

inline int64_t SaturatedProduct(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

}  // namespace amp

#endif  // AMP_IR_BASE_SATURATED_H_
