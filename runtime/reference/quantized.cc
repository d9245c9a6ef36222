#include "runtime/reference/quantized.h"

#include <algorithm>
#include <cmath>

#include "runtime/kernel/doubles.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/accumulator.h"

namespace amp {
namespace {

constexpr double kMostUint8 = 255;

}  // namespace

absl::StatusOr<Tensor> MapPairs(const Tensor& a, const Tensor& b, const std::function<double(double, double)>& of) {
  AMP_ASSIGN_OR_RETURN(const Dims dims, BroadcastDims(a.dims(), b.dims()));
  AMP_ASSIGN_OR_RETURN(Tensor result, Tensor::Create(DType::kFloat64, dims));
  if (result.num_elements() == 0) return result;
  auto next = result.mutable_elements<double>().begin();
  for (StridedWalk walk(dims, {BroadcastStrides(a.dims(), dims), BroadcastStrides(b.dims(), dims)}); !walk.AtEnd();
       walk.Next()) {
    *next++ = of(Doubles(a)[walk[0]], Doubles(b)[walk[1]]);
  }
  return result;
}

absl::StatusOr<Quantization> ReadQuantization(const KernelContext& context, size_t scale_port, size_t zero_point_port) {
  Quantization result;
  AMP_ASSIGN_OR_RETURN(result.scale, context.InputNumber(scale_port));
  if (!(result.scale > 0)) return ModelError("expected a scale above 0, found ", result.scale);
  if (!context.HasInput(zero_point_port)) return result;
  AMP_ASSIGN_OR_RETURN(const Tensor zero_point, ToFloat64(context.Input(zero_point_port)));
  if (zero_point.num_elements() != 1) {
    return ModelError("expected one zero point, found ", context.Input(zero_point_port).TypeText());
  }
  result.zero_point = Doubles(zero_point)[0];
  return result;
}

absl::StatusOr<Tensor> Dequantize(const Tensor& x, const Quantization& quantization) {
  AMP_ASSIGN_OR_RETURN(const Tensor wide, ToFloat64(x));
  AMP_ASSIGN_OR_RETURN(Tensor result, Tensor::Create(DType::kFloat64, x.dims()));
  std::transform(Doubles(wide).begin(), Doubles(wide).end(), result.mutable_elements<double>().begin(),
                 [&](double q) { return (q - quantization.zero_point) * quantization.scale; });
  return result;
}

absl::StatusOr<Tensor> Quantize(const Tensor& x, const Quantization& quantization, DType dtype) {
  if (VisitFloats(dtype, [](auto) {})) return ModelError("expected to quantise to integers, found ", DTypeName(dtype));
  const bool integers = VisitIntegers(dtype, [](auto) {});
  AMP_ASSIGN_OR_RETURN(Tensor quotients, Tensor::Create(DType::kFloat64, x.dims()));
  std::transform(Doubles(x).begin(), Doubles(x).end(), quotients.mutable_elements<double>().begin(), [&](double value) {
    const auto quotient = static_cast<double>(static_cast<float>(value / quantization.scale));
    return integers ? std::nearbyint(quotient) + quantization.zero_point : quotient;
  });
  if (!integers) return FromAccumulator(quotients, dtype);
  AMP_ASSIGN_OR_RETURN(Tensor result, Tensor::Create(dtype, x.dims()));
  AMP_RETURN_IF_ERROR(WriteDoubles(Doubles(quotients), result));
  return result;
}

Quantization DynamicQuantization(absl::Span<const double> numbers) {
  double low = 0, high = 0;
  for (const double number : numbers) {
    low = std::min(low, number);
    high = std::max(high, number);
  }
  const auto scale = static_cast<double>(static_cast<float>((high - low) / kMostUint8));
  if (!(scale > 0)) return {};
  return {scale, std::clamp(std::nearbyint(-low / scale), 0.0, kMostUint8)};
}

void RoundToQuantized(absl::Span<double> numbers) {
  const Quantization of = DynamicQuantization(numbers);
  for (double& number : numbers) {
    const double quotient = std::nearbyint(static_cast<double>(static_cast<float>(number / of.scale)));
    number = (std::clamp(quotient + of.zero_point, 0.0, kMostUint8) - of.zero_point) * of.scale;
  }
}

absl::StatusOr<Tensor> WrapToInt32(const Tensor& sums) {
  AMP_ASSIGN_OR_RETURN(Tensor result, Tensor::Create(DType::kInt32, sums.dims()));
  std::transform(Doubles(sums).begin(), Doubles(sums).end(), result.mutable_elements<int32_t>().begin(),
                 [](double sum) { return static_cast<int32_t>(static_cast<int64_t>(sum)); });
  return result;
}

}  // namespace amp
