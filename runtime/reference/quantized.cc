#include "runtime/reference/quantized.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/kernel/accumulator.h"
#include "runtime/kernel/shape_math.h"

namespace amp {

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
  AMP_ASSIGN_OR_RETURN(Tensor scaled, Tensor::Create(DType::kFloat64, x.dims()));
  const auto out = scaled.mutable_elements<double>();
  std::transform(Doubles(x).begin(), Doubles(x).end(), out.begin(),
                 [&](double value) { return value / quantization.scale; });
  if (VisitFloats(dtype, []<typename T>(TypeTag<T>) {})) return ModelError("expected integers or floats of 8 bits");
  Tensor result;
  bool integers = false;
  absl::Status status;
  integers = VisitIntegers(dtype, [&]<typename T>(TypeTag<T>) {
    absl::StatusOr<Tensor> made = Tensor::Create(dtype, x.dims());
    status = made.status();
    if (!status.ok()) return;
    result = *std::move(made);
    const auto low = static_cast<double>(std::numeric_limits<T>::min());
    const auto high = static_cast<double>(std::numeric_limits<T>::max());
    std::transform(out.begin(), out.end(), result.mutable_elements<T>().begin(), [&](double value) {
      const double q = std::nearbyint(value) + quantization.zero_point;
      if (q >= high) return std::numeric_limits<T>::max();
      return q >= low ? static_cast<T>(q) : std::numeric_limits<T>::min();  // NaN: the least
    });
  });
  if (!integers) return FromAccumulator(scaled, dtype);
  if (!status.ok()) return status;
  return result;
}

absl::StatusOr<Tensor> WrapToInt32(const Tensor& sums) {
  AMP_ASSIGN_OR_RETURN(Tensor result, Tensor::Create(DType::kInt32, sums.dims()));
  std::transform(Doubles(sums).begin(), Doubles(sums).end(), result.mutable_elements<int32_t>().begin(),
                 [](double sum) { return static_cast<int32_t>(static_cast<int64_t>(sum)); });
  return result;
}

}  // namespace amp
