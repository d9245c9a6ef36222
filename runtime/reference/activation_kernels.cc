// Activations: functions of one element, with a parameter or two.
#include <algorithm>
#include <cmath>

#include "runtime/reference/families.h"

namespace amp {
namespace {

// y = of(x), element by element, in float64.
template <typename Function>
absl::Status Map(KernelContext& context, Function of) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), x.dims()));
  const bool known = VisitFloats(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto in = x.elements<T>();
    const auto out = y->mutable_elements<T>();
    std::transform(in.begin(), in.end(), out.begin(), [&](T element) { return FromDouble<T>(of(ToDouble(element))); });
  });
  return known ? absl::OkStatus() : context.TypeError(x.dtype());
}

absl::Status Sigmoid(KernelContext& context) {
  return Map(context, [](double x) { return 1 / (1 + std::exp(-x)); });
}

absl::Status LeakyRelu(KernelContext& context) {
  const double alpha = GetFloat(context.node(), "alpha", 0.01f);
  return Map(context, [alpha](double x) { return x < 0 ? alpha * x : x; });
}

constexpr KernelRow kRows[] = {
    {"Sigmoid", Sigmoid},
    {"LeakyRelu", LeakyRelu},
};

}  // namespace

absl::Span<const KernelRow> ActivationKernels() { return kRows; }

}  // namespace amp
