// Activations: functions of one element, with a parameter or two; PRelu and SwiGLU, which take another operand.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <type_traits>

#include "runtime/forms/activation.h"
#include "runtime/reference/elementwise.h"
#include "runtime/reference/families.h"

namespace amp {
namespace {

double SigmoidOf(double x) { return 1 / (1 + std::exp(-x)); }
double SoftplusOf(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

ActivationNumbers NumbersOf(const KernelContext& context) { return ReadActivation(context.node(), context.version()); }

absl::Status Celu(KernelContext& context) {
  const double alpha = NumbersOf(context).a;
  return MapFloats(context,
                   [alpha](double x) { return (x < 0 ? 0 : x) + std::min(0.0, alpha * std::expm1(x / alpha)); });
}

absl::Status Elu(KernelContext& context) {
  const double alpha = NumbersOf(context).a;
  return MapFloats(context, [alpha](double x) { return x < 0 ? alpha * std::expm1(x) : x; });
}

absl::Status Gelu(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const bool by_tanh, IsGeluByTanh(context.node()));
  if (by_tanh) {
    return MapFloats(context, [](double x) {
      const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
      return 0.5 * x * (1 + std::tanh(inner));
    });
  }
  return MapFloats(context, [](double x) { return 0.5 * x * std::erfc(-x / std::numbers::sqrt2); });
}

absl::Status HardSigmoid(KernelContext& context) {
  const double alpha = NumbersOf(context).a, beta = NumbersOf(context).b;
  return MapFloats(context, [=](double x) { return std::clamp(alpha * x + beta, 0.0, 1.0); });
}

absl::Status LeakyRelu(KernelContext& context) {
  const double alpha = NumbersOf(context).a;
  return MapFloats(context, [alpha](double x) { return x < 0 ? alpha * x : x; });
}

absl::Status Relu(KernelContext& context) {
  return MapEach(context, []<typename T>(T x) { return x < 0 ? T{0} : x; });
}

absl::Status Selu(KernelContext& context) {
  const double alpha = NumbersOf(context).a, gamma = NumbersOf(context).b;
  return MapFloats(context, [=](double x) { return gamma * (x > 0 ? x : alpha * std::expm1(x)); });
}

absl::Status Shrink(KernelContext& context) {
  const double bias = NumbersOf(context).a, lambda = NumbersOf(context).b;
  return MapNumbers(context, [=](double x) { return x < -lambda ? x + bias : x > lambda ? x - bias : 0; });
}

absl::Status Swish(KernelContext& context) {
  const double alpha = NumbersOf(context).a;
  return MapFloats(context, [alpha](double x) { return x * SigmoidOf(alpha * x); });
}

absl::Status ThresholdedRelu(KernelContext& context) {
  const double alpha = NumbersOf(context).a;
  return MapFloats(context, [alpha](double x) { return x > alpha ? x : 0; });
}

// ---- with a second operand ----------------------------------------------------------------------------------------

// Before opset 7 a slope that is no single number has an element per channel, which is axis 1.
absl::StatusOr<Broadcast> BroadcastSlope(const KernelContext& context) {
  const Dims& x = context.Input(0).dims();
  Dims slope = context.Input(1).dims();
  const bool is_per_channel = context.version() < 7 && slope.size() == 1 && slope[0] != 1 && x.size() > 1;
  if (is_per_channel) slope.resize(x.size() - 1, 1);
  AMP_ASSIGN_OR_RETURN(const Dims dims, BroadcastDims(x, slope));
  if (dims != x) return ModelError("expected a slope that broadcasts to ", DimsText(x), ", found ", DimsText(slope));
  return Broadcast{dims, {BroadcastStrides(x, dims), BroadcastStrides(slope, dims)}};
}

absl::Status PRelu(KernelContext& context) {
  const Tensor& x = context.Input(0);
  const Tensor& slope = context.Input(1);
  AMP_RETURN_IF_ERROR(CheckSameType(x, slope));
  AMP_ASSIGN_OR_RETURN(const Broadcast broadcast, BroadcastSlope(context));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), x.dims()));
  const bool known = VisitNumbers(x.dtype(), [&]<typename T>(TypeTag<T>) {
    Zip(broadcast, x.elements<T>(), slope.elements<T>(), y->mutable_elements<T>(), [](T element, T factor) {
      const auto a = Load(element), b = Load(factor);
      if (!(a < 0)) return element;
      if constexpr (kIsFloat<T>) {
        return Store<T>(a * b);
      } else {
        return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
      }
    });
  });
  return known ? absl::OkStatus() : context.TypeError(x.dtype());
}

absl::Status SwiGlu(KernelContext& context) {
  const Tensor& gate = context.Input(0);
  const Tensor& value = context.Input(1);
  AMP_RETURN_IF_ERROR(CheckSameType(gate, value));
  if (gate.dims() != value.dims()) {
    return ModelError("expected equal shapes, found ", DimsText(gate.dims()), " and ", DimsText(value.dims()));
  }
  const double alpha = GetFloat(context.node(), "alpha", 1);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, gate.dtype(), gate.dims()));
  const bool known = VisitFloats(gate.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto a = gate.elements<T>(), b = value.elements<T>();
    const auto out = y->mutable_elements<T>();
    for (size_t i = 0; i < out.size(); ++i) {
      const double x = ToDouble(a[i]);
      out[i] = FromDouble<T>(x * SigmoidOf(alpha * x) * ToDouble(b[i]));
    }
  });
  return known ? absl::OkStatus() : context.TypeError(gate.dtype());
}

constexpr KernelRow kRows[] = {
    {"Celu", Celu},
    {"Elu", Elu},
    {"Gelu", Gelu},
    {"HardSigmoid", HardSigmoid},
    {"HardSwish", Mapped<[](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }>},
    {"LeakyRelu", LeakyRelu},
    {"Mish", Mapped<[](double x) { return x * std::tanh(SoftplusOf(x)); }>},
    {"PRelu", PRelu},
    {"Relu", Relu},
    {"Selu", Selu},
    {"Shrink", Shrink},
    {"Sigmoid", Mapped<SigmoidOf>},
    {"Softplus", Mapped<SoftplusOf>},
    {"Softsign", Mapped<[](double x) { return x / (1 + std::fabs(x)); }>},
    {"SwiGLU", SwiGlu},
    {"Swish", Swish},
    {"Tanh", Mapped<[](double x) { return std::tanh(x); }>},
    {"ThresholdedRelu", ThresholdedRelu},
};

}  // namespace

absl::Span<const KernelRow> ActivationKernels() { return kRows; }

}  // namespace amp
