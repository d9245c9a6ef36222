// Operators that ONNX had as experiments before opset 10, and that files of that time still hold: Affine, ImageScaler,
// ParametricSoftplus, Scale, ScaledTanh. No schema describes them; source: the changelog of ONNX 1.2.
#include <cmath>
#include <utility>

#include "runtime/forms/activation.h"
#include "runtime/forms/image.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/elementwise.h"
#include "runtime/reference/families.h"

namespace amp {
namespace {

std::pair<double, double> NumbersOf(const KernelContext& context) {
  const ActivationNumbers numbers = ReadActivation(context.node(), context.version());
  return {numbers.a, numbers.b};
}

absl::Status Affine(KernelContext& context) {
  const auto [alpha, beta] = NumbersOf(context);
  return MapFloats(context, [alpha = alpha, beta = beta](double x) { return alpha * x + beta; });
}

absl::Status ParametricSoftplus(KernelContext& context) {
  const auto [alpha, beta] = NumbersOf(context);
  return MapFloats(context, [alpha = alpha, beta = beta](double x) { return alpha * std::log1p(std::exp(beta * x)); });
}

absl::Status Scale(KernelContext& context) {
  const double scale = NumbersOf(context).first;
  return MapFloats(context, [scale](double x) { return scale * x; });
}

absl::Status ScaledTanh(KernelContext& context) {
  const auto [alpha, beta] = NumbersOf(context);
  return MapFloats(context, [alpha = alpha, beta = beta](double x) { return alpha * std::tanh(beta * x); });
}

// Pictures [N, C, ...] times a number, plus one number for each channel.
absl::Status ImageScaler(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const ImageScalerForm form, ReadImageScaler(context));
  const double scale = form.scale;
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), x.dims()));
  const auto plane = static_cast<size_t>(ElementsBetween(x.dims(), 2, x.rank()));
  const bool known = VisitFloats(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto in = x.elements<T>();
    const auto out = y->mutable_elements<T>();
    for (size_t i = 0; i < in.size(); ++i) {
      out[i] = FromDouble<T>(ToDouble(in[i]) * scale + form.bias[i / plane % form.bias.size()]);
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
