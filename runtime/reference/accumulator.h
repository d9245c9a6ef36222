// Tensors in the types that products are summed in: float64 for every type of floats, uint64 for every type of
// integers.
//
//   AMP_ASSIGN_OR_RETURN(const Tensor wide, ToAccumulator(x));          // float16[2,3] -> float64[2,3]
//   AMP_ASSIGN_OR_RETURN(const Tensor y, FromAccumulator(sum, x.dtype()));  // rounds once
//
// Sums of integers modulo 2^64, cut to the bits of a narrower type, are what that type's own wrapping sums are; so one
// unsigned type does for all, and nothing overflows. A tensor that has the wanted type already is shared, not copied.
#ifndef AMP_RUNTIME_REFERENCE_ACCUMULATOR_H_
#define AMP_RUNTIME_REFERENCE_ACCUMULATOR_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// Errors of all: kDataLoss for a type that is not covered; those of Tensor::Create.

// Numbers of any type, integers below 2^53 exactly.
absl::StatusOr<Tensor> ToFloat64(const Tensor& x);
// Floats as float64, integers as uint64 (sign extended).
absl::StatusOr<Tensor> ToAccumulator(const Tensor& x);
// Rounds float64 to a type of floats (8-bit ones: to the largest finite number), cuts uint64 to a type of integers.
absl::StatusOr<Tensor> FromAccumulator(const Tensor& sum, DType dtype);
// float64 of these dims, all `value`.
absl::StatusOr<Tensor> FilledFloat64(Dims dims, double value);

// The elements of ToFloat64.
inline absl::Span<const double> Doubles(const Tensor& x) { return x.elements<double>(); }

}  // namespace amp

#endif  // AMP_RUNTIME_REFERENCE_ACCUMULATOR_H_
