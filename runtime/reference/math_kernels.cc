// Mathematical functions of one element, and Clip.
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

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
  std::optional<float> number;

  template <typename T>
  std::optional<ComputeType<T>> As() const {
    if (tensor != nullptr) return Load(tensor->elements<T>()[0]);
    if constexpr (kIsFloat<T>) return number;
    return std::nullopt;
  }
};

absl::StatusOr<Bound> ReadBound(const KernelContext& context, size_t port, absl::string_view name, float at_opset_6) {
  if (context.version() == 6) return Bound{nullptr, GetFloat(context.node(), name, at_opset_6)};
  if (context.version() < 6) return Bound{nullptr, GetFloat(context.node(), name)};
  if (!context.HasInput(port)) return Bound{};
  const Tensor& tensor = context.Input(port);
  AMP_RETURN_IF_ERROR(CheckSameType(context.Input(0), tensor));
  if (tensor.num_elements() != 1) return ModelError("expected one element as ", name, ", found ", tensor.TypeText());
  return Bound{&tensor, std::nullopt};
}

// A bound that is not there does not limit anything, infinities included. Where the bounds contradict each other, the
// upper one wins; NaN passes.
absl::Status Clip(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Bound low, ReadBound(context, 1, "min", std::numeric_limits<float>::lowest()));
  AMP_ASSIGN_OR_RETURN(const Bound high, ReadBound(context, 2, "max", std::numeric_limits<float>::max()));
  const Tensor& x = context.Input(0);
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
