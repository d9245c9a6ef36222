// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear.
//
//   y = saturate(round(x / scale) + zero_point)        x = (y - zero_point) * scale
//
// One scale for the whole tensor, one per index of an axis, or one per block of an axis. A quotient is rounded to the
// type that ONNX says the division happens in, before it is rounded to an integer: in float64, 2.4999999 would not be
// the half that it is in float32.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "runtime/forms/quantize.h"
#include "runtime/kernel/no_kernel_error.h"
#include "runtime/reference/convert_element.h"
#include "runtime/reference/elementwise.h"
#include "runtime/reference/families.h"

namespace amp {
namespace {

// ---- which scale is whose -----------------------------------------------------------------------------------------

// A tensor as [outer, axis, inner], and where the scale of an element is: at outer * steps[0] + axis / block * steps[1]
// + inner * steps[2].
struct Granularity {
  int64_t outer = 1, axis = 1, inner = 1, block = 1;
  size_t steps[3] = {0, 0, 0};

  // Calls visit(element, its scale) for all.
  template <typename Visit>
  void ForEach(Visit visit) const {
    if (axis == 0 || inner == 0) return;
    size_t element = 0;
    for (size_t i = 0; i < static_cast<size_t>(outer); ++i) {
      for (size_t k = 0; k < static_cast<size_t>(axis); ++k) {
        const size_t first = i * steps[0] + k / static_cast<size_t>(block) * steps[1];
        for (size_t j = 0; j < static_cast<size_t>(inner); ++j) visit(element++, first + j * steps[2]);
      }
    }
  }
};

absl::StatusOr<Granularity> BlockedGranularity(const Granularity& whole, const Dims& x, const Dims& scale, size_t axis,
                                               int64_t block) {
  if (block < 1) return ModelError("expected a block_size of at least 1, found ", block);
  Dims expected = x;
  expected[axis] = x[axis] / block + (x[axis] % block == 0 ? 0 : 1);
  if (scale != expected) return ModelError("expected scales ", DimsText(expected), ", found ", DimsText(scale));
  Granularity result = whole;
  result.block = block;
  result.steps[0] = static_cast<size_t>(scale[axis] * whole.inner);
  result.steps[1] = static_cast<size_t>(whole.inner);
  result.steps[2] = 1;
  return result;
}

absl::StatusOr<Granularity> GranularityOf(const QuantizeForm& form, const Dims& x, const Tensor& scale) {
  const auto count = [&x](size_t first, size_t last) { return ElementsBetween(x, first, last); };
  if (scale.num_elements() == 1 && !form.HasBlocks()) return Granularity{.inner = count(0, x.size())};
  const size_t axis = form.axis;
  Granularity result{.outer = count(0, axis), .axis = x[axis], .inner = count(axis + 1, x.size())};
  if (form.HasBlocks()) return BlockedGranularity(result, x, scale.dims(), axis, form.block_size);
  if (scale.dims() != Dims{x[axis]}) {
    return ModelError("expected one scale, or ", x[axis], " along axis ", axis, ", found ", DimsText(scale.dims()));
  }
  result.steps[1] = 1;
  return result;
}

// Scales or zero points as float64.
absl::StatusOr<Tensor> AsDoubles(const Tensor& tensor) {
  AMP_ASSIGN_OR_RETURN(Tensor doubles, Tensor::Create(DType::kFloat64, tensor.dims()));
  if (!LoadDoubles(tensor, 0, doubles.mutable_elements<double>())) {
    return NoKernelFor(tensor.dtype());
  }
  return doubles;
}

// Zero points have the scales' shape; without them all are 0.
absl::StatusOr<Tensor> ZeroPoints(const KernelContext& context, const Tensor& scale) {
  if (!context.HasInput(2)) {
    AMP_ASSIGN_OR_RETURN(Tensor zeros, Tensor::Create(DType::kFloat64, scale.dims()));
    for (double& zero : zeros.mutable_elements<double>()) zero = 0;
    return zeros;
  }
  const Tensor& points = context.Input(2);
  const bool is_one = points.num_elements() == 1 && scale.num_elements() == 1;
  if (points.dims() != scale.dims() && !is_one) {
    return ModelError("expected zero points ", DimsText(scale.dims()), " as the scales, found ",
                      DimsText(points.dims()));
  }
  return AsDoubles(points);
}

// ---- QuantizeLinear -----------------------------------------------------------------------------------------------

double RoundedTo(double x, DType type) {
  VisitFloats(type, [&x]<typename T>(TypeTag<T>) { x = ToDouble(FromDouble<T>(x)); });
  return x;
}

// The type in which x is divided by the scale: the attribute's, the scale's, and where that is no type to compute in,
// that of x. int32 on both sides: float64.
DType DivisionType(const KernelContext& context, const QuantizeForm& form) {
  for (const DType type :
       {form.precision.value_or(DType::kUndefined), context.Input(1).dtype(), context.Input(0).dtype()}) {
    if (VisitFloats(type, [](auto) {})) return type;
  }
  return DType::kFloat64;
}

// The range of an integer type of at most 32 bits.
template <typename T>
struct IntegerRange {
  static constexpr auto kLowest = static_cast<double>(std::numeric_limits<T>::lowest());
  static constexpr auto kHighest = static_cast<double>(std::numeric_limits<T>::max());
};
template <DType type>
struct IntegerRange<TinyInt<type>> {
  static constexpr bool kIsSigned = std::is_signed_v<typename TinyInt<type>::Wide>;
  static constexpr int kValues = 1 << TinyInt<type>::kBits;
  static constexpr double kLowest = kIsSigned ? -kValues / 2 : 0, kHighest = kLowest + kValues - 1;
};

// NaN becomes the lowest number.
template <typename T>
T Quantized(double quotient, double zero_point, const ConvertRules& rules) {
  if constexpr (kIsFloat<T>) {
    return ConvertElement<T>(quotient + zero_point, rules);
  } else {
    using Range = IntegerRange<T>;
    const double shifted = std::nearbyint(quotient) + zero_point;
    return ConvertElement<T>(shifted >= Range::kLowest ? std::min(shifted, Range::kHighest) : Range::kLowest);
  }
}

template <typename Visit>
bool VisitQuantized(DType type, Visit&& visit) {
  if (type == DType::kInt64 || type == DType::kUint64) return false;
  return VisitIntegers(type, visit) || (type != DType::kFloat8E8M0 && VisitTinyTypes(type, visit));
}

absl::Status QuantizeLinear(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const QuantizeForm form, ReadQuantize(context));
  AMP_ASSIGN_OR_RETURN(const Granularity granularity, GranularityOf(form, x.dims(), context.Input(1)));
  AMP_ASSIGN_OR_RETURN(const Tensor scales, AsDoubles(context.Input(1)));
  AMP_ASSIGN_OR_RETURN(const Tensor zero_points, ZeroPoints(context, context.Input(1)));
  const DType division = DivisionType(context, form);
  AMP_ASSIGN_OR_RETURN(const DType type, ReadQuantizedType(context));
  const ConvertRules rules = {.saturate = GetInt(context.node(), "saturate", 1) != 0};
  AMP_ASSIGN_OR_RETURN(const Tensor numbers, AsDoubles(x));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, type, x.dims()));
  const auto in = numbers.elements<double>(), scale = scales.elements<double>(), zero = zero_points.elements<double>();
  const bool known = VisitQuantized(type, [&]<typename T>(TypeTag<T>) {
    const auto out = y->mutable_elements<T>();
    granularity.ForEach(
        [&](size_t i, size_t k) { out[i] = Quantized<T>(RoundedTo(in[i] / scale[k], division), zero[k], rules); });
  });
  return known ? absl::OkStatus() : context.TypeError(type);
}

// ---- DequantizeLinear ---------------------------------------------------------------------------------------------

absl::Status DequantizeLinear(KernelContext& context) {
  const Tensor& x = context.Input(0);
  if (context.HasInput(2)) AMP_RETURN_IF_ERROR(CheckSameType(x, context.Input(2)));
  AMP_ASSIGN_OR_RETURN(const QuantizeForm form, ReadQuantize(context));
  AMP_ASSIGN_OR_RETURN(const Granularity granularity, GranularityOf(form, x.dims(), context.Input(1)));
  AMP_ASSIGN_OR_RETURN(const Tensor scales, AsDoubles(context.Input(1)));
  AMP_ASSIGN_OR_RETURN(const Tensor zero_points, ZeroPoints(context, context.Input(1)));
  AMP_ASSIGN_OR_RETURN(const Tensor numbers, AsDoubles(x));
  const DType type = form.output.value_or(context.Input(1).dtype());
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, type, x.dims()));
  const auto in = numbers.elements<double>(), scale = scales.elements<double>(), zero = zero_points.elements<double>();
  const bool known = VisitFloats(type, [&]<typename T>(TypeTag<T>) {
    const auto out = y->mutable_elements<T>();
    granularity.ForEach([&](size_t i, size_t k) { out[i] = FromDouble<T>((in[i] - zero[k]) * scale[k]); });
  });
  return known ? absl::OkStatus() : context.TypeError(type);
}

// ---- DynamicQuantizeLinear ----------------------------------------------------------------------------------------

// In float32 throughout, as the scale that comes out is one. A tensor of zeros alone, or an empty one, has scale 1.
absl::Status DynamicQuantizeLinear(KernelContext& context) {
  const Tensor& x = context.Input(0);
  if (x.dtype() != DType::kFloat32) return context.TypeError(x.dtype());
  const auto in = x.elements<float>();
  float lowest = 0, highest = 0;
  for (const float element : in) {
    lowest = std::min(lowest, element);
    highest = std::max(highest, element);
  }
  const float scale = highest == lowest ? 1 : (highest - lowest) / 255;
  const double zero_point = Quantized<uint8_t>(-lowest / scale, 0, {});
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, DType::kUint8, x.dims()));
  std::transform(in.begin(), in.end(), y->mutable_elements<uint8_t>().begin(),
                 [=](float element) { return Quantized<uint8_t>(element / scale, zero_point, {}); });
  context.SetOutput(1, Tensor::Scalar(scale));
  AMP_ASSIGN_OR_RETURN(Tensor * point, context.MakeOutput(2, DType::kUint8, {}));
  point->mutable_elements<uint8_t>()[0] = static_cast<uint8_t>(zero_point);
  return absl::OkStatus();
}

// com.microsoft has the same two for types that ai.onnx's took later: 16 and 4 bits before opset 21.
constexpr KernelRow kRows[] = {
    {"DequantizeLinear", DequantizeLinear},
    {"DequantizeLinear", DequantizeLinear, "com.microsoft"},
    {"DynamicQuantizeLinear", DynamicQuantizeLinear},
    {"QuantizeLinear", QuantizeLinear},
    {"QuantizeLinear", QuantizeLinear, "com.microsoft"},
};

}  // namespace

absl::Span<const KernelRow> QuantizationKernels() { return kRows; }

}  // namespace amp
