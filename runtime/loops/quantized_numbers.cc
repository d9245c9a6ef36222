#include "runtime/loops/quantized_numbers.h"

#include <cmath>

#include "runtime/forms/activation.h"
#include "runtime/forms/pool.h"
#include "runtime/forms/quantize.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

// Whether the numbers at `port`, whose scale and zero point are behind them, are of `dtype`.
Refusal WhyNotNumbers(const KernelContext& context, size_t port, DType dtype) {
  if (!IsByte(dtype) || context.Input(port).dtype() != dtype) return kNoBytes;
  return ReadQuantized(context, port + 1, dtype).has_value() ? nullptr : kOtherScales;
}

double ValueOf(uint8_t bits, DType dtype) {
  return dtype == DType::kInt8 ? static_cast<double>(static_cast<int8_t>(bits)) : static_cast<double>(bits);
}

}  // namespace

std::optional<Quantized> ReadQuantized(const KernelContext& context, size_t scale_port, DType dtype) {
  const Tensor& scale = context.Input(scale_port);
  if (scale.dtype() != DType::kFloat32 || scale.num_elements() != 1) return std::nullopt;
  Quantized result{.scale = static_cast<double>(scale.elements<float>()[0]), .zero_point = 0};
  if (!(result.scale > 0) || !std::isfinite(result.scale)) return std::nullopt;
  if (!context.HasInput(scale_port + 1)) return result;
  const Tensor& zero = context.Input(scale_port + 1);
  if (zero.dtype() != dtype || zero.num_elements() != 1) return std::nullopt;
  result.zero_point = dtype == DType::kInt8 ? zero.elements<int8_t>()[0] : zero.elements<uint8_t>()[0];
  return result;
}

Refusal WhyNotQuantizedPair(const KernelContext& context) {
  constexpr size_t kA = QuantizedPorts::kA, kB = QuantizedPorts::kB, kScaleY = QuantizedPorts::kScaleY;
  const DType dtype = context.Input(kA).dtype();
  for (const size_t port : {kA, kB}) {
    if (const Refusal refusal = WhyNotNumbers(context, port, dtype)) return refusal;
  }
  return ReadQuantized(context, kScaleY, dtype).has_value() ? nullptr : kOtherScales;
}

Refusal WhyNotQuantizedOne(const KernelContext& context) {
  const DType dtype = context.Input(QuantizedPorts::kX).dtype();
  if (const Refusal refusal = WhyNotNumbers(context, QuantizedPorts::kX, dtype)) return refusal;
  return ReadQuantized(context, QuantizedPorts::kScaleOfOne, dtype).has_value() ? nullptr : kOtherScales;
}

Refusal WhyNotQuantizedConcat(const KernelContext& context) {
  const Tensor& first = context.Input(QuantizedPorts::kFirstPart);
  const absl::StatusOr<size_t> axis = ReadQuantizedConcatAxis(context);
  if (!axis.ok()) return "no axis of the inputs";
  if (!ReadQuantized(context, 0, first.dtype()).has_value()) return kOtherScales;
  int64_t size = 0;
  for (size_t port = QuantizedPorts::kFirstPart; port < context.num_inputs(); port += QuantizedPorts::kPortsOfPart) {
    if (const Refusal refusal = WhyNotNumbers(context, port, first.dtype())) return refusal;
    const Tensor& part = context.Input(port);
    Dims like = part.dims();
    if (like.size() == first.rank()) like[*axis] = first.dim(*axis);
    if (like != first.dims()) return "shapes that do not fit";
    size += part.dim(*axis);
    if (size > kMaxElements) return "too many elements";
  }
  return {};
}

Refusal WhyNotQuantizedMean(const KernelContext& context) {
  const Tensor& x = context.Input(QuantizedPorts::kX);
  if (x.rank() < 3 || x.num_elements() == 0) return "no images";
  if (HasChannelsLast(context.node())) return "channels last";
  return WhyNotQuantizedOne(context);
}

uint8_t QuantizeTo(double x, const Quantized& y, DType dtype) {
  const bool is_signed = dtype == DType::kInt8;
  const double low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
  const auto quotient = static_cast<double>(static_cast<float>(x / y.scale));
  const double shifted = std::nearbyint(quotient) + y.zero_point;
  return static_cast<uint8_t>(static_cast<int>(shifted < low ? low : shifted > high ? high : shifted));
}

QuantizedTable TableOf(const Quantized& from, const Quantized& to, DType dtype, const Activation& of) {
  QuantizedTable table;
  for (size_t i = 0; i < table.size(); ++i) {
    const double number = (ValueOf(static_cast<uint8_t>(i), dtype) - from.zero_point) * from.scale;
    table[i] = QuantizeTo(of(number), to, dtype);
  }
  return table;
}

QuantizedTable TableOfNode(const KernelContext& context) {
  const DType dtype = context.Input(QuantizedPorts::kX).dtype();
  const Quantized from = *ReadQuantized(context, QuantizedPorts::kX + 1, dtype),
                  to = *ReadQuantized(context, QuantizedPorts::kScaleOfOne, dtype);
  if (context.node().op_type() == "QLinearSigmoid") return TableOf(from, to, dtype, SigmoidOf);
  const double alpha = ReadActivation(context.node(), context.version()).a;
  return TableOf(from, to, dtype, [alpha](double x) { return x < 0 ? alpha * x : x; });
}

}  // namespace amp
