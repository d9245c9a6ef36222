// Quantised numbers and what they stand for: (q - zero point) * scale. Computed in float64.
#ifndef AMP_RUNTIME_REFERENCE_QUANTIZED_H_
#define AMP_RUNTIME_REFERENCE_QUANTIZED_H_

#include <functional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// Element by element, NumPy's broadcasting. REQUIRES: float64 both. Errors: shapes that do not broadcast.
absl::StatusOr<Tensor> MapPairs(const Tensor& a, const Tensor& b, const std::function<double(double, double)>& of);

// A scale or a zero point for all elements.
struct Quantization {
  double scale = 1, zero_point = 0;
};
// From inputs with one element each; the zero point may be absent. Errors: more elements, a scale that is not above 0.
absl::StatusOr<Quantization> ReadQuantization(const KernelContext& context, size_t scale_port, size_t zero_point_port);

// As float64.
absl::StatusOr<Tensor> Dequantize(const Tensor& x, const Quantization& quantization);
// round(x / scale), ties to even, plus the zero point, within the range of the type: integers, or floats of 8 bits. The
// quotient is rounded to float32 first, as it is one where the scale is: in float64, 2.4999999 would be no half.
absl::StatusOr<Tensor> Quantize(const Tensor& x, const Quantization& quantization, DType dtype);

// As DynamicQuantizeLinear has it: for uint8, over the range of the numbers and 0; the scale is a float32.
Quantization DynamicQuantization(absl::Span<const double> numbers);
// Rounds numbers to those that such quantised numbers stand for.
void RoundToQuantized(absl::Span<double> numbers);

// float64 cut to int32 by its low bits, as sums that may overflow 32 bits. REQUIRES: whole numbers below 2^63.
absl::StatusOr<Tensor> WrapToInt32(const Tensor& sums);

}  // namespace amp

#endif  // AMP_RUNTIME_REFERENCE_QUANTIZED_H_
