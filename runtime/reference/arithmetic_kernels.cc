// Arithmetic of two operands, and of any number of them: Add and its kin, Sum, Mean, Max, Min.
//
// Floats are computed in float64 and rounded once. Integers wrap around, as numpy's do; what has no result at all, as a
// division by zero, is an error.
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "runtime/kernel/no_kernel_error.h"
#include "runtime/reference/convert_element.h"
#include "runtime/reference/elementwise.h"
#include "runtime/reference/families.h"

namespace amp {
namespace {

// y = of(a, b) for floats as float64 and for integers.
template <typename Function>
absl::Status ZipNumbers(KernelContext& context, Function of) {
  const Tensor& a = context.Input(0);
  const Tensor& b = context.Input(1);
  AMP_RETURN_IF_ERROR(CheckSameType(a, b));
  AMP_ASSIGN_OR_RETURN(const Broadcast broadcast, BroadcastPair(context));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, a.dtype(), broadcast.dims));
  const bool known = VisitNumbers(a.dtype(), [&]<typename T>(TypeTag<T>) {
    Zip(broadcast, a.elements<T>(), b.elements<T>(), y->mutable_elements<T>(),
        [&of](T x, T z) { return Store<T>(of(Load(x), Load(z))); });
  });
  return known ? absl::OkStatus() : context.TypeError(a.dtype());
}

// Sums, differences and products of integers are computed modulo 2^64 and cut to their type.
template <typename T, typename Function>
T Wrapping(T a, T b, Function of) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(of(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  } else {
    return of(a, b);
  }
}

constexpr auto kAdd = [](auto a, auto b) { return Wrapping(a, b, [](auto x, auto y) { return x + y; }); };
constexpr auto kSubtract = [](auto a, auto b) { return Wrapping(a, b, [](auto x, auto y) { return x - y; }); };
constexpr auto kMultiply = [](auto a, auto b) { return Wrapping(a, b, [](auto x, auto y) { return x * y; }); };

template <const auto& kFunction>
absl::Status Zipped(KernelContext& context) {
  return ZipNumbers(context, kFunction);
}

// ---- division -----------------------------------------------------------------------------------------------------

absl::Status CheckDivisor(bool is_zero) {
  return is_zero ? ModelError("expected integer divisors other than 0, found 0") : absl::OkStatus();
}

// The least integer divided by -1 is itself, as it is when it is negated.
template <typename T>
T Quotient(T a, T b) {
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(a));
  }
  return static_cast<T>(a / b);
}

absl::Status Div(KernelContext& context) {
  bool by_zero = false;
  AMP_RETURN_IF_ERROR(ZipNumbers(context, [&]<typename T>(T a, T b) -> T {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return by_zero = true, T{0};
      return Quotient(a, b);
    } else {
      return a / b;
    }
  }));
  return CheckDivisor(by_zero);
}

// The remainder for a quotient that is cut towards zero; it has the sign of a.
double Remainder(double a, double b) { return std::fmod(a, b); }
template <typename T>
requires std::is_integral_v<T> T Remainder(T a, T b) {
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  return static_cast<T>(a % b);
}

// The remainder for a quotient that is rounded down; it has the sign of b, zeros included.
template <typename T>
T Modulo(T a, T b) {
  const T remainder = Remainder(a, b);
  if constexpr (std::is_same_v<T, double>) {
    if (remainder == 0) return std::copysign(0.0, b);
  }
  const bool other_sign = (remainder < 0) != (b < 0);
  return remainder != 0 && other_sign && !(remainder != remainder) ? static_cast<T>(remainder + b) : remainder;
}

absl::Status Mod(KernelContext& context) {
  const int64_t fmod = GetInt(context.node(), "fmod", 0);
  if (fmod != 0 && fmod != 1) return ModelError("expected fmod 0 or 1, found ", fmod);
  bool by_zero = false;
  AMP_RETURN_IF_ERROR(ZipNumbers(context, [&]<typename T>(T a, T b) -> T {
    if (std::is_integral_v<T> && b == 0) return by_zero = true, T{0};
    return fmod == 1 ? Remainder(a, b) : Modulo(a, b);
  }));
  return CheckDivisor(by_zero);
}

// ---- powers -------------------------------------------------------------------------------------------------------

// base^exponent modulo 2^64, by repeated squaring.
uint64_t WrappingPower(uint64_t base, uint64_t exponent) {
  uint64_t power = 1;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) power *= base;
    base *= base;
  }
  return power;
}

// With a negative exponent: the exact result cut towards zero. REQUIRES: then the base is not 0.
template <typename T, typename Exponent>
T IntegerPower(T base, Exponent exponent) {
  if (exponent >= 0) return static_cast<T>(WrappingPower(static_cast<uint64_t>(base), static_cast<uint64_t>(exponent)));
  if (base == 1) return 1;
  if constexpr (std::is_signed_v<T>) {
    if (base == -1) return exponent % 2 == 0 ? T{1} : T{-1};
  }
  return 0;
}

// The exponents as one of few types: float64 where they or the base are floats, else int64 or uint64.
absl::StatusOr<Tensor> WideExponents(const Tensor& exponents, DType base) {
  const bool is_integral = VisitIntegers(base, [](auto) {}) && VisitIntegers(exponents.dtype(), [](auto) {});
  if (is_integral && exponents.dtype() == DType::kUint64) return exponents;
  AMP_ASSIGN_OR_RETURN(Tensor wide, Tensor::Create(is_integral ? DType::kInt64 : DType::kFloat64, exponents.dims()));
  if (is_integral) {
    VisitIntegers(exponents.dtype(), [&]<typename T>(TypeTag<T>) {
      const auto elements = exponents.elements<T>();
      std::copy(elements.begin(), elements.end(), wide.mutable_elements<int64_t>().begin());
    });
  } else if (!LoadDoubles(exponents, 0, wide.mutable_elements<double>())) {
    return NoKernelFor(exponents.dtype());
  }
  return wide;
}

template <typename T, typename Exponent>
absl::Status RaiseEach(const Broadcast& broadcast, const Tensor& base, const Tensor& exponents, Tensor& power) {
  bool by_zero = false;
  Zip(broadcast, base.elements<T>(), exponents.elements<Exponent>(), power.mutable_elements<T>(),
      [&](T x, Exponent exponent) -> T {
        if constexpr (std::is_integral_v<T> && std::is_integral_v<Exponent>) {
          if (x == 0 && exponent < 0) return by_zero = true, T{0};
          return IntegerPower(x, exponent);
        } else {
          return ConvertElement<T>(std::pow(ToDouble(x), exponent));
        }
      });
  return by_zero ? ModelError("expected a base other than 0 where the exponent is negative, found 0")
                 : absl::OkStatus();
}

absl::Status Pow(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const Broadcast broadcast, BroadcastPair(context));
  AMP_ASSIGN_OR_RETURN(const Tensor exponents, WideExponents(context.Input(1), x.dtype()));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), broadcast.dims));
  absl::Status status = context.TypeError(x.dtype());
  VisitNumbers(x.dtype(), [&]<typename T>(TypeTag<T>) {
    if (exponents.dtype() == DType::kFloat64) {
      status = RaiseEach<T, double>(broadcast, x, exponents, *y);
    } else if constexpr (std::is_integral_v<T>) {
      status = exponents.dtype() == DType::kInt64 ? RaiseEach<T, int64_t>(broadcast, x, exponents, *y)
                                                  : RaiseEach<T, uint64_t>(broadcast, x, exponents, *y);
    }
  });
  return status;
}

// ---- any number of operands ---------------------------------------------------------------------------------------

// The operands one after another, joined by `of` in float64 or in their own integer type.
template <typename Function>
absl::StatusOr<Tensor> Fold(const KernelContext& context, Function of) {
  const Tensor& first = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const Broadcast broadcast, BroadcastInputs(context, context.num_inputs()));
  for (size_t i = 1; i < context.num_inputs(); ++i) AMP_RETURN_IF_ERROR(CheckSameType(first, context.Input(i)));
  const bool is_float = VisitFloats(first.dtype(), [](auto) {});
  AMP_ASSIGN_OR_RETURN(Tensor total, Tensor::Create(is_float ? DType::kFloat64 : first.dtype(), broadcast.dims));
  const bool known = VisitNumbers(first.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto totals = total.mutable_elements<ComputeType<T>>();
    for (size_t operand = 0; operand < context.num_inputs(); ++operand) {
      const auto elements = context.Input(operand).elements<T>();
      for (RowWalk row({broadcast.dims, {broadcast.strides[operand]}}); !row.AtEnd(); row.Next()) {
        for (size_t i = 0; i < row.count(); ++i) {
          ComputeType<T>& sum = totals[row.first() + i];
          const ComputeType<T> element = Load(elements[row.At(0, i)]);
          sum = operand == 0 ? element : of(sum, element);
        }
      }
    }
  });
  if (!known) return context.TypeError(first.dtype());
  return total;
}

// Divides the floats by a number and gives them the operands' type.
absl::Status StoreFolded(KernelContext& context, absl::StatusOr<Tensor> total, double divisor) {
  if (!total.ok()) return total.status();
  const DType dtype = context.Input(0).dtype();
  if (total->dtype() == dtype && divisor == 1) {
    context.SetOutput(0, *std::move(total));
    return absl::OkStatus();
  }
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, dtype, total->dims()));
  const auto totals = total->mutable_elements<double>();
  for (double& element : totals) element /= divisor;
  StoreDoubles(totals, *y, 0);
  return absl::OkStatus();
}

absl::Status Sum(KernelContext& context) { return StoreFolded(context, Fold(context, kAdd), 1); }

absl::Status Mean(KernelContext& context) {
  const DType dtype = context.Input(0).dtype();
  if (!VisitFloats(dtype, [](auto) {})) return context.TypeError(dtype);
  return StoreFolded(context, Fold(context, kAdd), static_cast<double>(context.num_inputs()));
}

// NaN where either is.
absl::Status Max(KernelContext& context) {
  return StoreFolded(context, Fold(context, [](auto a, auto b) { return a > b || a != a ? a : b; }), 1);
}

absl::Status Min(KernelContext& context) {
  return StoreFolded(context, Fold(context, [](auto a, auto b) { return a < b || a != a ? a : b; }), 1);
}

constexpr KernelRow kRows[] = {
    {"Add", Zipped<kAdd>},
    {"Sub", Zipped<kSubtract>},
    {"Mul", Zipped<kMultiply>},
    {"Div", Div},
    {"Mod", Mod},
    {"Pow", Pow},
    {"Sum", Sum},
    {"Mean", Mean},
    {"Max", Max},
    {"Min", Min},
};

}  // namespace

absl::Span<const KernelRow> ArithmeticKernels() { return kRows; }

}  // namespace amp
