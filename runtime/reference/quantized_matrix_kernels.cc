// Matrix products and convolutions of quantised numbers.
//
//   QLinearMatMul: y = quantise(sum over k of (a - a_zero) (b - b_zero), times a_scale * b_scale / y_scale)
//
// Sums of integers are whole numbers below 2^53, so they are exact in float64. There is one zero point and scale of a,
// or one for each row; of b one, or one for each column; of a filter one, or one for each output channel.
#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/kernel/shape_math.h"
#include "runtime/reference/accumulator.h"
#include "runtime/reference/convolution.h"
#include "runtime/reference/families.h"
#include "runtime/reference/matrix_product.h"
#include "runtime/reference/quantized.h"

namespace amp {
namespace {

enum class Along { kRows, kColumns, kFilters };

// Scales or zero points in a shape that broadcasts to that of the matrix or filter they belong to; `fallback` where the
// input is absent.
absl::StatusOr<Tensor> Parameters(const KernelContext& context, size_t port, double fallback, Along along) {
  if (!context.HasInput(port)) return FilledFloat64({}, fallback);
  AMP_ASSIGN_OR_RETURN(Tensor wide, ToFloat64(context.Input(port)));
  if (wide.num_elements() == 1) return wide.Reshaped({});
  if (wide.rank() == 1 && along == Along::kRows) return wide.Reshaped({wide.dim(0), 1});
  return wide;
}

// Returns quantised numbers less their zero points.
absl::StatusOr<Tensor> Centered(const Tensor& x, const Tensor& zero_points) {
  AMP_ASSIGN_OR_RETURN(const Tensor wide, ToFloat64(x));
  AMP_ASSIGN_OR_RETURN(Tensor result, MapPairs(wide, zero_points, std::minus<double>()));
  if (result.dims() == x.dims()) return result;
  return ModelError("expected zero points that broadcast to ", x.TypeText(), ", found ", zero_points.TypeText());
}

struct MatrixPorts {
  size_t a, a_zero, b, b_zero;
};

absl::StatusOr<Tensor> MultiplyCentered(const KernelContext& context, const MatrixPorts& ports) {
  AMP_ASSIGN_OR_RETURN(const Tensor a_zero, Parameters(context, ports.a_zero, 0, Along::kRows));
  AMP_ASSIGN_OR_RETURN(const Tensor b_zero, Parameters(context, ports.b_zero, 0, Along::kColumns));
  AMP_ASSIGN_OR_RETURN(const Tensor a, Centered(context.Input(ports.a), a_zero));
  AMP_ASSIGN_OR_RETURN(const Tensor b, Centered(context.Input(ports.b), b_zero));
  return MultiplyMatrices(a, b);
}

// sums * scales, which must not make them larger.
absl::StatusOr<Tensor> Scale(const Tensor& sums, const Tensor& scales) {
  AMP_ASSIGN_OR_RETURN(Tensor result, MapPairs(sums, scales, std::multiplies<double>()));
  if (result.dims() == sums.dims()) return result;
  return ModelError("expected scales that broadcast to ", DimsText(sums.dims()), ", found ", DimsText(scales.dims()));
}

absl::StatusOr<Tensor> ScaleProduct(const KernelContext& context, const Tensor& sums, size_t a_port, size_t b_port) {
  AMP_ASSIGN_OR_RETURN(const Tensor a_scale, Parameters(context, a_port, 1, Along::kRows));
  AMP_ASSIGN_OR_RETURN(const Tensor b_scale, Parameters(context, b_port, 1, Along::kColumns));
  AMP_ASSIGN_OR_RETURN(const Tensor scales, MapPairs(a_scale, b_scale, std::multiplies<double>()));
  return Scale(sums, scales);
}

absl::Status MatMulInteger(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Tensor sums, MultiplyCentered(context, {.a = 0, .a_zero = 2, .b = 1, .b_zero = 3}));
  AMP_ASSIGN_OR_RETURN(Tensor y, WrapToInt32(sums));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

// The type of what an operator quantises: that of the zero point, else that of its first input.
absl::Status QuantizeOutput(KernelContext& context, const Tensor& x, size_t scale_port, size_t zero_point_port) {
  AMP_ASSIGN_OR_RETURN(const Quantization quantization, ReadQuantization(context, scale_port, zero_point_port));
  const DType dtype = context.Input(context.HasInput(zero_point_port) ? zero_point_port : 0).dtype();
  AMP_ASSIGN_OR_RETURN(Tensor y, Quantize(x, quantization, dtype));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

absl::Status QLinearMatMul(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Tensor sums, MultiplyCentered(context, {.a = 0, .a_zero = 2, .b = 3, .b_zero = 5}));
  AMP_ASSIGN_OR_RETURN(const Tensor product, ScaleProduct(context, sums, 1, 4));
  return QuantizeOutput(context, product, 6, 7);
}

absl::Status AddLastAxisBias(const KernelContext& context, size_t port, Tensor& x) {
  if (!context.HasInput(port)) return absl::OkStatus();
  AMP_ASSIGN_OR_RETURN(const Tensor bias, ToFloat64(context.Input(port)));
  AMP_ASSIGN_OR_RETURN(Tensor sum, MapPairs(x, bias, std::plus<double>()));
  if (sum.dims() != x.dims()) {
    return ModelError("expected a bias that broadcasts to ", DimsText(x.dims()), ", found ", bias.TypeText());
  }
  x = std::move(sum);
  return absl::OkStatus();
}

// com.microsoft: the product as floats.
absl::Status MatMulIntegerToFloat(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Tensor sums, MultiplyCentered(context, {.a = 0, .a_zero = 4, .b = 1, .b_zero = 5}));
  AMP_ASSIGN_OR_RETURN(Tensor product, ScaleProduct(context, sums, 2, 3));
  AMP_RETURN_IF_ERROR(AddLastAxisBias(context, 6, product));
  AMP_ASSIGN_OR_RETURN(Tensor y, FromAccumulator(product, context.Input(2).dtype()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

// com.microsoft: quantises A on the way.
absl::Status DynamicQuantizeMatMul(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Tensor a, ToFloat64(context.Input(0)));
  const Quantization of_a = DynamicQuantization(Doubles(a));
  AMP_ASSIGN_OR_RETURN(const Tensor quantized, Quantize(a, of_a, DType::kUint8));
  AMP_ASSIGN_OR_RETURN(const Tensor centered, Dequantize(quantized, {1, of_a.zero_point}));
  AMP_ASSIGN_OR_RETURN(const Tensor b_zero, Parameters(context, 3, 0, Along::kColumns));
  AMP_ASSIGN_OR_RETURN(const Tensor b, Centered(context.Input(1), b_zero));
  AMP_ASSIGN_OR_RETURN(const Tensor sums, MultiplyMatrices(centered, b));
  AMP_ASSIGN_OR_RETURN(const Tensor b_scale, Parameters(context, 2, 1, Along::kColumns));
  AMP_ASSIGN_OR_RETURN(const Tensor a_scale, FilledFloat64({}, of_a.scale));
  AMP_ASSIGN_OR_RETURN(const Tensor scales, MapPairs(b_scale, a_scale, std::multiplies<double>()));
  AMP_ASSIGN_OR_RETURN(Tensor product, Scale(sums, scales));
  AMP_RETURN_IF_ERROR(AddLastAxisBias(context, 4, product));
  AMP_ASSIGN_OR_RETURN(Tensor y, FromAccumulator(product, context.Input(0).dtype()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

// A matrix without its zero point, transposed where `flag` says so. Zero points along columns are those of the result.
absl::StatusOr<Tensor> GemmFactor(const KernelContext& context, size_t port, absl::string_view flag) {
  if (context.Input(port).rank() != 2) return ModelError("expected a matrix, found ", context.Input(port).TypeText());
  AMP_ASSIGN_OR_RETURN(Tensor x, ToFloat64(context.Input(port)));
  if (GetInt(context.node(), flag, 0) != 0) {
    AMP_ASSIGN_OR_RETURN(x, TransposeMatrices(x));
  }
  AMP_ASSIGN_OR_RETURN(const Tensor zero, Parameters(context, port + 2, 0, Along::kColumns));
  return Centered(x, zero);
}

// com.microsoft: the bias is added to the sums; without scale and zero point of the output it is floats.
absl::Status QGemm(KernelContext& context) {
  constexpr size_t kScaleOfY = 7;
  AMP_ASSIGN_OR_RETURN(const Tensor a, GemmFactor(context, 0, "transA"));
  AMP_ASSIGN_OR_RETURN(const Tensor b, GemmFactor(context, 3, "transB"));
  AMP_ASSIGN_OR_RETURN(Tensor sums, MultiplyMatrices(a, b));
  AMP_RETURN_IF_ERROR(AddLastAxisBias(context, 6, sums));
  AMP_ASSIGN_OR_RETURN(Tensor product, ScaleProduct(context, sums, 1, 4));
  const double alpha = GetFloat(context.node(), "alpha", 1);
  for (double& element : product.mutable_elements<double>()) element *= alpha;
  if (context.HasInput(kScaleOfY) && context.HasInput(kScaleOfY + 1))
    return QuantizeOutput(context, product, kScaleOfY, kScaleOfY + 1);
  AMP_ASSIGN_OR_RETURN(Tensor y, FromAccumulator(product, DType::kFloat32));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

// [M] becomes [M, 1, ..], of the rank of a filter; one number stays as it is.
absl::StatusOr<Tensor> PerFilter(const KernelContext& context, size_t port, double fallback, const Tensor& w) {
  AMP_ASSIGN_OR_RETURN(Tensor numbers, Parameters(context, port, fallback, Along::kFilters));
  if (numbers.rank() == 0) return numbers;
  if (numbers.rank() != 1 || w.rank() == 0 || numbers.dim(0) != w.dim(0)) {
    return ModelError("expected one number, or one for each output channel, found ", context.Input(port).TypeText());
  }
  Dims dims(w.rank(), 1);
  dims[0] = w.dim(0);
  return numbers.Reshaped(dims);
}

struct ConvolutionPorts {
  size_t x, x_zero, w, w_zero;
};

absl::StatusOr<Tensor> ConvolveCentered(const KernelContext& context, const ConvolutionPorts& ports) {
  AMP_ASSIGN_OR_RETURN(const Tensor x_zero, Parameters(context, ports.x_zero, 0, Along::kFilters));
  AMP_ASSIGN_OR_RETURN(const Tensor w_zero, PerFilter(context, ports.w_zero, 0, context.Input(ports.w)));
  AMP_ASSIGN_OR_RETURN(const Tensor x, Centered(context.Input(ports.x), x_zero));
  AMP_ASSIGN_OR_RETURN(const Tensor w, Centered(context.Input(ports.w), w_zero));
  return Convolve(context.node(), x, w);
}

absl::Status ConvInteger(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Tensor sums, ConvolveCentered(context, {.x = 0, .x_zero = 2, .w = 1, .w_zero = 3}));
  AMP_ASSIGN_OR_RETURN(Tensor y, WrapToInt32(sums));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

absl::Status QLinearConv(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(Tensor sums, ConvolveCentered(context, {.x = 0, .x_zero = 2, .w = 3, .w_zero = 5}));
  if (context.HasInput(8)) {
    AMP_ASSIGN_OR_RETURN(const Tensor bias, ToFloat64(context.Input(8)));
    AMP_RETURN_IF_ERROR(AddBias(bias, sums));
  }
  AMP_ASSIGN_OR_RETURN(const double x_scale, context.InputNumber(1));
  AMP_ASSIGN_OR_RETURN(Tensor scales, PerFilter(context, 4, 1, context.Input(3)));
  if (scales.rank() > 0) {  // the filters are the channels of the output
    Dims dims(sums.rank(), 1);
    dims[1] = sums.dim(1);
    scales = scales.Reshaped(dims);
  }
  AMP_ASSIGN_OR_RETURN(const Tensor result,
                       MapPairs(sums, scales, [&](double sum, double scale) { return sum * (x_scale * scale); }));
  return QuantizeOutput(context, result, 6, 7);
}

constexpr KernelRow kRows[] = {
    {"MatMulInteger", MatMulInteger},
    {"QLinearMatMul", QLinearMatMul},
    {"ConvInteger", ConvInteger},
    {"QLinearConv", QLinearConv},
    {"MatMulIntegerToFloat", MatMulIntegerToFloat, "com.microsoft"},
    {"DynamicQuantizeMatMul", DynamicQuantizeMatMul, "com.microsoft"},
    {"QGemm", QGemm, "com.microsoft"},
};

}  // namespace

absl::Span<const KernelRow> QuantizedMatrixKernels() { return kRows; }

}  // namespace amp
