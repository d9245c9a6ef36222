// Gradients of activations, Softmax, Dropout and Div, as ONNX Runtime's training graphs have them. Inputs are the
// gradient of the output, and the activation's input or output, whichever its gradient needs.
//
//   dx = com.microsoft.ReluGrad (dy, x)   dx = com.microsoft.TanhGrad (dy, y)   dx = com.microsoft.SoftmaxGrad (dy, y)
#include <cmath>
#include <numbers>
#include <vector>

#include "absl/functional/function_ref.h"
#include "runtime/kernel/cells.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/float_cells.h"
#include "runtime/reference/training_families.h"

namespace amp {
namespace {

// The elements of input `port`, which has the shape of input 0.
absl::StatusOr<std::vector<double>> ReadLike(const KernelContext& context, size_t port) {
  if (context.Input(port).dims() == context.Input(0).dims()) return ReadFloats(context, port);
  return ModelError("input ", port, ": expected shape ", DimsText(context.Input(0).dims()), ", found ",
                    context.InputDatum(port).TypeText());
}

// Output 0, like input 0.
absl::Status WriteGradient(KernelContext& context, const std::vector<double>& gradient) {
  return WriteOutput(context, 0, context.Input(0).dtype(), context.Input(0).dims(), gradient);
}

// Output 0 = of(dy, x), element by element.
absl::Status MapPair(KernelContext& context, absl::FunctionRef<double(double dy, double x)> of) {
  AMP_ASSIGN_OR_RETURN(std::vector<double> gradient, ReadFloats(context, 0));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> x, ReadLike(context, 1));
  for (size_t i = 0; i < gradient.size(); ++i) gradient[i] = of(gradient[i], x[i]);
  return WriteGradient(context, gradient);
}

template <auto kFunction>
absl::Status Mapped(KernelContext& context) {
  return MapPair(context, kFunction);
}

// ---- activations
// ------------------------------------------------------------------------------------------------------

double ReluSlope(double dy, double x) { return x > 0 ? dy : 0; }
double SigmoidSlope(double dy, double y) { return dy * y * (1 - y); }
double TanhSlope(double dy, double y) { return dy * (1 - y * y); }

double GeluSlope(double dy, double x) {
  const double density = std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
  return dy * (0.5 * std::erfc(-x / std::numbers::sqrt2) + x * density);
}

// The slope of the form with tanh, times dy.
double FastGeluSlope(double dy, double x) {
  constexpr double kCubic = 0.044715;
  const double factor = std::sqrt(2 / std::numbers::pi), t = std::tanh(factor * (x + kCubic * x * x * x));
  return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * factor * (1 + 3 * kCubic * x * x));
}

absl::Status QuickGeluGrad(KernelContext& context) {
  const double alpha = GetFloat(context.node(), "alpha", 1.702f);
  return MapPair(context, [alpha](double dy, double x) {
    const double sigmoid = 1 / (1 + std::exp(-alpha * x));
    return dy * sigmoid * (1 + alpha * x * (1 - sigmoid));
  });
}

absl::Status LeakyReluGrad(KernelContext& context) {
  const double alpha = GetFloat(context.node(), "alpha", 0.01f);
  return MapPair(context, [alpha](double dy, double y) { return y > 0 ? dy : alpha * dy; });
}

// The gradient of an activation of x + bias, with a bias along the last axis.
template <auto kSlope>
absl::Status BiasedGrad(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(std::vector<double> gradient, ReadFloats(context, 0));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> x, ReadLike(context, 1));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> bias, ReadFloats(context, 2));
  const Dims& dims = context.Input(0).dims();
  if (dims.empty() || context.Input(2).dims() != Dims{dims.back()}) {
    return ModelError("expected a bias as wide as ", context.Input(0).TypeText(), ", found ",
                      context.Input(2).TypeText());
  }
  for (size_t i = 0; i < gradient.size(); ++i) gradient[i] = kSlope(gradient[i], x[i] + bias[i % bias.size()]);
  return WriteGradient(context, gradient);
}

// ---- Softmax
// ----------------------------------------------------------------------------------------------------------

enum class Of { kSoftmax, kLogSoftmax };
// Before opset 13 a Softmax is one of all axes from `axis` on.
enum class Along { kAxis, kAxesFrom };

template <Of kOf, Along kAlong>
absl::Status SoftmaxGrad(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(std::vector<double> gradient, ReadFloats(context, 0));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> y, ReadLike(context, 1));
  const Dims& dims = context.Input(0).dims();
  const int64_t stated = GetInt(context.node(), "axis", kAlong == Along::kAxis ? -1 : 1);
  AMP_ASSIGN_OR_RETURN(const size_t axis, NormalizeAxis(stated, dims.size()));
  const size_t end = kAlong == Along::kAxis ? axis + 1 : dims.size();
  const Cells cells = gradient.empty() ? Cells() : CellsAlong(dims, AxesBetween(axis, end));
  for (const size_t start : cells.starts) {
    double sum = 0;
    for (const size_t offset : cells.offsets) {
      sum += gradient[start + offset] * (kOf == Of::kSoftmax ? y[start + offset] : 1);
    }
    for (const size_t offset : cells.offsets) {
      double& dy = gradient[start + offset];
      const double at = y[start + offset];
      dy = kOf == Of::kSoftmax ? at * (dy - sum) : dy - std::exp(at) * sum;
    }
  }
  return WriteGradient(context, gradient);
}

// ---- Dropout
// ----------------------------------------------------------------------------------------------------------

// Inputs: dy, the mask, the ratio, whether it trains.
absl::Status DropoutGrad(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(std::vector<double> gradient, ReadFloats(context, 0));
  const Tensor& mask = context.Input(1);
  if (mask.dtype() != DType::kBool || mask.dims() != context.Input(0).dims()) {
    return ModelError("expected a mask of truth values like ", context.Input(0).TypeText(), ", found ",
                      context.InputDatum(1).TypeText());
  }
  double ratio = 0.5;
  if (context.HasInput(2)) {
    AMP_ASSIGN_OR_RETURN(ratio, context.InputNumber(2));
  }
  const bool trains =
      !context.HasInput(3) || (context.Input(3).dtype() == DType::kBool && context.Input(3).num_elements() == 1 &&
                               context.Input(3).elements<bool>()[0]);
  const auto kept = mask.elements<bool>();
  for (size_t i = 0; trains && i < gradient.size(); ++i) gradient[i] = kept[i] ? gradient[i] / (1 - ratio) : 0;
  return WriteGradient(context, gradient);
}

// ---- Div
// --------------------------------------------------------------------------------------------------------------

// Output `port`: `products`, which have the shape `dims`, summed up to the shape of an operand that was repeated.
absl::Status WriteSums(KernelContext& context, size_t port, const Tensor& operand, const Dims& dims,
                       const std::vector<double>& products) {
  if (!context.HasOutput(port)) return absl::OkStatus();
  std::vector<double> sums(static_cast<size_t>(operand.num_elements()), 0.0);
  size_t i = 0;
  for (StridedWalk walk(dims, {BroadcastStrides(operand.dims(), dims)}); !walk.AtEnd(); walk.Next()) {
    sums[walk[0]] += products[i++];
  }
  return WriteOutput(context, port, context.Input(0).dtype(), operand.dims(), sums);
}

// Inputs: dy, what is divided, by what. Outputs: the gradients of both.
absl::Status DivGrad(KernelContext& context) {
  const Tensor &a = context.Input(1), &b = context.Input(2);
  const Dims& dims = context.Input(0).dims();
  const absl::StatusOr<Dims> both = BroadcastDims(a.dims(), b.dims());
  if (!both.ok() || *both != dims) {
    return ModelError("expected operands that broadcast to ", DimsText(dims), ", found ", a.TypeText(), " and ",
                      b.TypeText());
  }
  AMP_ASSIGN_OR_RETURN(const std::vector<double> dy, ReadFloats(context, 0));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> dividend, ReadFloats(context, 1));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> divisor, ReadFloats(context, 2));
  std::vector<double> first(dy.size()), second(dy.size());
  size_t i = 0;
  for (StridedWalk walk(dims, {BroadcastStrides(a.dims(), dims), BroadcastStrides(b.dims(), dims)}); !walk.AtEnd();
       walk.Next(), ++i) {
    first[i] = dy[i] / divisor[walk[1]];
    second[i] = -first[i] * dividend[walk[0]] / divisor[walk[1]];
  }
  AMP_RETURN_IF_ERROR(WriteSums(context, 0, a, dims, first));
  return WriteSums(context, 1, b, dims, second);
}

constexpr absl::string_view kDomain = "com.microsoft";
constexpr KernelRow kRows[] = {
    {"ReluGrad", Mapped<ReluSlope>, kDomain},
    {"SigmoidGrad", Mapped<SigmoidSlope>, kDomain},
    {"TanhGrad", Mapped<TanhSlope>, kDomain},
    {"GeluGrad", Mapped<GeluSlope>, kDomain},
    {"FastGeluGrad", Mapped<FastGeluSlope>, kDomain},
    {"QuickGeluGrad", QuickGeluGrad, kDomain},
    {"LeakyReluGrad", LeakyReluGrad, kDomain},
    {"BiasGeluGrad_dX", BiasedGrad<GeluSlope>, kDomain},
    {"BiasFastGeluGrad_dX", BiasedGrad<FastGeluSlope>, kDomain},
    {"SoftmaxGrad", SoftmaxGrad<Of::kSoftmax, Along::kAxesFrom>, kDomain},
    {"SoftmaxGrad_13", SoftmaxGrad<Of::kSoftmax, Along::kAxis>, kDomain},
    {"LogSoftmaxGrad", SoftmaxGrad<Of::kLogSoftmax, Along::kAxesFrom>, kDomain},
    {"LogSoftmaxGrad_13", SoftmaxGrad<Of::kLogSoftmax, Along::kAxis>, kDomain},
    {"DropoutGrad", DropoutGrad, kDomain},
    {"DivGrad", DivGrad, kDomain},
};

}  // namespace

absl::Span<const KernelRow> ActivationGradientKernels() { return kRows; }

}  // namespace amp
