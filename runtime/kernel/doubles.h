// Tensors of numbers as float64 and back, for kernels that read elements many times over.
#ifndef AMP_RUNTIME_KERNEL_DOUBLES_H_
#define AMP_RUNTIME_KERNEL_DOUBLES_H_

#include <cmath>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// The elements in order. Integers beyond 2^53 lose their last digits. Errors: neither floats nor integers.
absl::StatusOr<std::vector<double>> ReadDoubles(const Tensor& tensor);

// Rounds once. Integers: cut towards zero (round beforehand where halves count), held within the type; NaN is 0.
// REQUIRES: as many values as elements. Errors: neither floats nor integers.
absl::Status WriteDoubles(absl::Span<const double> values, Tensor& tensor);

// One value, as WriteDoubles stores it.
template <typename T>
T StoreDouble(double value) {
  if constexpr (kIsFloat<T>) {
    return FromDouble<T>(value);
  } else {
    // 2^63 and 2^64 are floats; the largest integers below them are not.
    constexpr double kLowest = static_cast<double>(std::numeric_limits<T>::lowest());
    const double beyond = std::ldexp(1.0, std::numeric_limits<T>::digits);
    if (std::isnan(value)) return 0;
    if (value <= kLowest) return std::numeric_limits<T>::lowest();
    return value >= beyond ? std::numeric_limits<T>::max() : static_cast<T>(value);
  }
}

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_DOUBLES_H_
