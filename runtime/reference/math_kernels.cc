// Mathematical functions of one element, and Clip.
#include <cmath>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "runtime/kernel/clip_bounds.h"
#include "runtime/reference/elementwise.h"
#include "runtime/reference/families.h"

namespace amp {
namespace {

// The least integer has no opposite of its type and stays what it is.
template <typename T>
T Negated(T x) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(x));
  } else {
    return -x;
  }
}

absl::Status Neg(KernelContext& context) {
  return MapEach(context, [](auto x) { return Negated(x); });
}

absl::Status Abs(KernelContext& context) {
  return MapEach(context, []<typename T>(T x) -> T {
    if constexpr (std::is_same_v<T, double>) return std::fabs(x);
    return x < 0 ? Negated(x) : x;
  });
}

// Zeros and NaN stay what they are.
absl::Status Sign(KernelContext& context) {
  return MapEach(context, []<typename T>(T x) { return x > 0 ? T{1} : x < 0 ? static_cast<T>(-1) : x; });
}

absl::Status Erf(KernelContext& context) {
  return MapNumbers(context, [](double x) { return std::erf(x); });
}

// ---- Clip ---------------------------------------------------------------------------------------------------------

// A bound that an attribute or an input gives, of any type that ComputeType can be.
struct Bound {
  const Tensor* tensor = nullptr;
  double number = 0;

  template <typename T>
  std::optional<ComputeType<T>> As() const {
    if (tensor != nullptr) return Load(tensor->elements<T>()[0]);
    if constexpr (kIsFloat<T>) return static_cast<ComputeType<T>>(number);
    return std::nullopt;
  }
};

// `absent`: where the node states none.
absl::StatusOr<Bound> ReadBound(const KernelContext& context, size_t port, absl::string_view name, double absent) {
  constexpr int kBoundsAreInputs = 11;
  if (context.version() < kBoundsAreInputs) {
    const std::optional<float> stated = GetFloat(context.node(), name);
    return Bound{nullptr, stated.has_value() ? *stated : absent};
  }
  if (!context.HasInput(port)) return Bound{nullptr, absent};
  const Tensor& tensor = context.Input(port);
  AMP_RETURN_IF_ERROR(CheckSameType(context.Input(0), tensor));
  if (tensor.num_elements() != 1) return ModelError("expected one element as ", name, ", found ", tensor.TypeText());
  return Bound{&tensor};
}

// A bound that is not there is the largest finite number. Where the bounds contradict each other, the upper one wins;
// NaN passes.
absl::Status Clip(KernelContext& context) {
  const Tensor& x = context.Input(0);
  const ClipBounds absent = AbsentClipBounds(x.dtype(), context.version());
  AMP_ASSIGN_OR_RETURN(const Bound low, ReadBound(context, 1, "min", absent.low));
  AMP_ASSIGN_OR_RETURN(const Bound high, ReadBound(context, 2, "max", absent.high));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), x.dims()));
  const bool known = VisitNumbers(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto least = low.As<T>(), largest = high.As<T>();
    const auto in = x.elements<T>();
    const auto out = y->mutable_elements<T>();
    for (size_t i = 0; i < in.size(); ++i) {
      ComputeType<T> element = Load(in[i]);
      if (least.has_value() && element < *least) element = *least;
      if (largest.has_value() && element > *largest) element = *largest;
      out[i] = Store<T>(element);
    }
  });
  return known ? absl::OkStatus() : context.TypeError(x.dtype());
}

constexpr KernelRow kRows[] = {
    {"Abs", Abs},
    {"Acos", Mapped<[](double x) { return std::acos(x); }>},
    {"Acosh", Mapped<[](double x) { return std::acosh(x); }>},
    {"Asin", Mapped<[](double x) { return std::asin(x); }>},
    {"Asinh", Mapped<[](double x) { return std::asinh(x); }>},
    {"Atan", Mapped<[](double x) { return std::atan(x); }>},
    {"Atanh", Mapped<[](double x) { return std::atanh(x); }>},
    {"Ceil", Mapped<[](double x) { return std::ceil(x); }>},
    {"Clip", Clip},
    {"Cos", Mapped<[](double x) { return std::cos(x); }>},
    {"Cosh", Mapped<[](double x) { return std::cosh(x); }>},
    {"Erf", Erf},
    {"Exp", Mapped<[](double x) { return std::exp(x); }>},
    {"Floor", Mapped<[](double x) { return std::floor(x); }>},
    {"Log", Mapped<[](double x) { return std::log(x); }>},
    {"Neg", Neg},
    {"Reciprocal", Mapped<[](double x) { return 1 / x; }>},
    {"Round", Mapped<[](double x) { return std::nearbyint(x); }>},  // halves to even
    {"Sign", Sign},
    {"Sin", Mapped<[](double x) { return std::sin(x); }>},
    {"Sinh", Mapped<[](double x) { return std::sinh(x); }>},
    {"Sqrt", Mapped<[](double x) { return std::sqrt(x); }>},
    {"Tan", Mapped<[](double x) { return std::tan(x); }>},
};

}  // namespace

absl::Span<const KernelRow> MathKernels() { return kRows; }

}  // namespace amp
