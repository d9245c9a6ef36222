// Operators that ONNX had as experiments before opset 10, and that files of that time still hold: Affine, ImageScaler,
// ParametricSoftplus, Scale, ScaledTanh. No schema describes them; source: the changelog of ONNX 1.2.
#include <cmath>
#include <vector>

#include "runtime/reference/elementwise.h"
#include "runtime/reference/families.h"

namespace amp {
namespace {

absl::Status Affine(KernelContext& context) {
  const double alpha = GetFloat(context.node(), "alpha", 1), beta = GetFloat(context.node(), "beta", 0);
  return MapFloats(context, [alpha, beta](double x) { return alpha * x + beta; });
}

absl::Status ParametricSoftplus(KernelContext& context) {
  const double alpha = GetFloat(context.node(), "alpha", 1), beta = GetFloat(context.node(), "beta", 1);
  return MapFloats(context, [alpha, beta](double x) { return alpha * std::log1p(std::exp(beta * x)); });
}

absl::Status Scale(KernelContext& context) {
  const double scale = GetFloat(context.node(), "scale", 1);
  return MapFloats(context, [scale](double x) { return scale * x; });
}

absl::Status ScaledTanh(KernelContext& context) {
  const double alpha = GetFloat(context.node(), "alpha", 1), beta = GetFloat(context.node(), "beta", 1);
  return MapFloats(context, [alpha, beta](double x) { return alpha * std::tanh(beta * x); });
}

// Pictures [N, C, ...] times a number, plus one number for each channel.
absl::Status ImageScaler(KernelContext& context) {
  const Tensor& x = context.Input(0);
  const double scale = GetFloat(context.node(), "scale", 1);
  const std::vector<float> bias = GetFloats(context.node(), "bias").value_or(std::vector<float>());
  if (x.rank() < 2 || static_cast<int64_t>(bias.size()) != x.dim(1)) {
    return ModelError("expected a bias for each channel of [N, C, ...], found ", bias.size(), " for ", x.TypeText());
  }
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), x.dims()));
  const auto plane = static_cast<size_t>(ElementsBetween(x.dims(), 2, x.rank()));
  const bool known = VisitFloats(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto in = x.elements<T>();
    const auto out = y->mutable_elements<T>();
    for (size_t i = 0; i < in.size(); ++i) {
      out[i] = FromDouble<T>(ToDouble(in[i]) * scale + bias[i / plane % bias.size()]);
    }
  });
  return known ? absl::OkStatus() : context.TypeError(x.dtype());
}

constexpr KernelRow kRows[] = {
    {"Affine", Affine}, {"ImageScaler", ImageScaler}, {"ParametricSoftplus", ParametricSoftplus},
    {"Scale", Scale},   {"ScaledTanh", ScaledTanh},
};

}  // namespace

absl::Span<const KernelRow> ExperimentalKernels() { return kRows; }

}  // namespace amp
