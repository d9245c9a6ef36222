// com.microsoft's operators on quantised numbers: what they stand for is computed with, and quantised again.
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "runtime/forms/activation.h"
#include "runtime/forms/pool.h"
#include "runtime/forms/quantize.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/accumulator.h"
#include "runtime/reference/families.h"
#include "runtime/reference/float_cells.h"
#include "runtime/reference/fused_activation.h"
#include "runtime/reference/quantized.h"

namespace amp {
namespace {

// Returns the numbers that input `port` stands for; its scale and zero point are the inputs behind it.
absl::StatusOr<Tensor> DequantizeInput(const KernelContext& context, size_t port) {
  AMP_ASSIGN_OR_RETURN(const Quantization quantization, ReadQuantization(context, port + 1, port + 2));
  return Dequantize(context.Input(port), quantization);
}

absl::Status QuantizeOutput(KernelContext& context, const Tensor& y, size_t scale_port) {
  AMP_ASSIGN_OR_RETURN(const Quantization quantization, ReadQuantization(context, scale_port, scale_port + 1));
  const DType dtype = context.Input(context.HasInput(scale_port + 1) ? scale_port + 1 : 0).dtype();
  AMP_ASSIGN_OR_RETURN(Tensor quantized, Quantize(y, quantization, dtype));
  context.SetOutput(0, std::move(quantized));
  return absl::OkStatus();
}

absl::Status OfPairs(KernelContext& context, const std::function<double(double, double)>& of) {
  AMP_ASSIGN_OR_RETURN(const Tensor a, DequantizeInput(context, 0));
  AMP_ASSIGN_OR_RETURN(const Tensor b, DequantizeInput(context, 3));
  AMP_ASSIGN_OR_RETURN(const Tensor y, MapPairs(a, b, of));
  return QuantizeOutput(context, y, 6);
}

absl::Status QLinearAdd(KernelContext& context) { return OfPairs(context, std::plus<double>()); }

absl::Status QLinearMul(KernelContext& context) { return OfPairs(context, std::multiplies<double>()); }

absl::Status OfOne(KernelContext& context, const Activation& of) {
  AMP_ASSIGN_OR_RETURN(Tensor x, DequantizeInput(context, 0));
  for (double& element : x.mutable_elements<double>()) element = of(element);
  return QuantizeOutput(context, x, 3);
}

absl::Status QLinearLeakyRelu(KernelContext& context) {
  const double alpha = ReadActivation(context.node(), context.version()).a;
  return OfOne(context, [alpha](double x) { return x < 0 ? alpha * x : x; });
}

absl::Status QLinearSigmoid(KernelContext& context) { return OfOne(context, SigmoidOf); }

// Inputs: a condition; then what is taken where it holds, and where not, each with scale and zero point.
absl::Status QLinearWhere(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Tensor condition, ToFloat64(context.Input(0)));
  AMP_ASSIGN_OR_RETURN(const Tensor x, DequantizeInput(context, 1));
  AMP_ASSIGN_OR_RETURN(const Tensor y, DequantizeInput(context, 4));
  AMP_ASSIGN_OR_RETURN(const Tensor left,
                       MapPairs(condition, x, [](double holds, double value) { return holds != 0 ? value : 0; }));
  AMP_ASSIGN_OR_RETURN(const Tensor right,
                       MapPairs(condition, y, [](double holds, double value) { return holds != 0 ? 0 : value; }));
  AMP_ASSIGN_OR_RETURN(const Tensor z, MapPairs(left, right, std::plus<double>()));
  AMP_ASSIGN_OR_RETURN(const Quantization quantization, ReadQuantization(context, 7, 8));
  AMP_ASSIGN_OR_RETURN(Tensor quantized, Quantize(z, quantization, context.Input(1).dtype()));
  context.SetOutput(0, std::move(quantized));
  return absl::OkStatus();
}

// Along one axis, or, as before opset 13, along that axis and all behind it.
absl::Status QLinearSoftmax(KernelContext& context) {
  constexpr int64_t kOneAxisSince = 13;
  AMP_ASSIGN_OR_RETURN(Tensor x, DequantizeInput(context, 0));
  const bool is_old = GetInt(context.node(), "opset", kOneAxisSince) < kOneAxisSince;
  AMP_ASSIGN_OR_RETURN(const size_t axis, NormalizeAxis(GetInt(context.node(), "axis", -1), x.rank()));
  std::vector<size_t> axes = {axis};
  while (is_old && axes.back() + 1 < x.rank()) axes.push_back(axes.back() + 1);
  TransformCells(x.dims(), axes, x.mutable_elements<double>(), [](size_t, absl::Span<double> elements) {
    const double sum = SumOfExponentials(elements);
    for (double& element : elements) element = std::exp(element) / sum;
  });
  return QuantizeOutput(context, x, 3);
}

absl::Status QLinearGlobalAveragePool(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Tensor x, DequantizeInput(context, 0));
  if (x.rank() < 3) return ModelError("expected X [N, C, ..], found ", context.Input(0).TypeText());
  const bool channels_last = HasChannelsLast(context.node());
  const size_t channel_axis = channels_last ? x.rank() - 1 : 1;
  Dims dims(x.rank(), 1);
  dims[0] = x.dim(0);
  dims[channel_axis] = x.dim(channel_axis);
  AMP_ASSIGN_OR_RETURN(Tensor means, FilledFloat64(dims, 0));
  if (x.num_elements() > 0) {
    const auto out = means.mutable_elements<double>();
    const int64_t image = x.num_elements() / means.num_elements();
    for (StridedWalk walk(x.dims(), {RowStrides(x.dims()), BroadcastStrides(dims, x.dims())}); !walk.AtEnd();
         walk.Next()) {
      out[walk[1]] += Doubles(x)[walk[0]];
    }
    for (double& mean : out) mean /= static_cast<double>(image);
  }
  return QuantizeOutput(context, means, 3);
}

// Inputs: scale and zero point of the output; then a tensor, its scale and its zero point, for each part.
absl::Status QLinearConcat(KernelContext& context) {
  std::vector<Tensor> parts;
  for (size_t port = 2; port < context.num_inputs(); port += 3) {
    AMP_ASSIGN_OR_RETURN(parts.emplace_back(), DequantizeInput(context, port));
  }
  if (parts.empty()) return ModelError("expected tensors to join, found none");
  AMP_ASSIGN_OR_RETURN(const size_t axis, ReadQuantizedConcatAxis(context));
  Dims dims = parts[0].dims();
  dims[axis] = 0;
  for (const Tensor& part : parts) {
    Dims others = part.dims();
    if (others.size() == dims.size()) others[axis] = dims[axis];
    if (others != dims || __builtin_add_overflow(dims[axis], part.dim(axis), &dims[axis])) {
      return ModelError("expected shapes as ", parts[0].TypeText(), " but for axis ", axis, ", found ",
                        part.TypeText());
    }
  }
  AMP_ASSIGN_OR_RETURN(Tensor joined, FilledFloat64(dims, 0));
  int64_t offset = 0;
  for (const Tensor& part : parts) {
    StridedWalk walk(part.dims(), {RowStrides(part.dims()), RowStrides(dims)});
    walk.Start(1, offset * RowStrides(dims)[axis]);
    for (; !walk.AtEnd(); walk.Next()) joined.mutable_elements<double>()[walk[1]] = Doubles(part)[walk[0]];
    offset += part.dim(axis);
  }
  AMP_ASSIGN_OR_RETURN(const Quantization quantization, ReadQuantization(context, 0, 1));
  AMP_ASSIGN_OR_RETURN(Tensor y, Quantize(joined, quantization, context.Input(2).dtype()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {"QLinearAdd", QLinearAdd, "com.microsoft"},
    {"QLinearMul", QLinearMul, "com.microsoft"},
    {"QLinearLeakyRelu", QLinearLeakyRelu, "com.microsoft"},
    {"QLinearSigmoid", QLinearSigmoid, "com.microsoft"},
    {"QLinearWhere", QLinearWhere, "com.microsoft"},
    {"QLinearSoftmax", QLinearSoftmax, "com.microsoft"},
    {"QLinearGlobalAveragePool", QLinearGlobalAveragePool, "com.microsoft"},
    {"QLinearConcat", QLinearConcat, "com.microsoft"},
};

}  // namespace

absl::Span<const KernelRow> QuantizedContribKernels() { return kRows; }

}  // namespace amp
