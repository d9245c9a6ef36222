// The types of sums and products: float64 for floats, two of them for complex numbers, integers modulo 2^64, of which a
// narrower integer keeps the low bits. A bool is 0 or 1, so that a sum is "or" and a product "and".
#ifndef AMP_RUNTIME_REFERENCE_WIDE_ARITHMETIC_H_
#define AMP_RUNTIME_REFERENCE_WIDE_ARITHMETIC_H_

#include <complex>
#include <cstdint>
#include <type_traits>

#include "runtime/kernel/element.h"

namespace amp {

template <typename T>
inline constexpr bool kIsComplex = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

template <typename T>
using WideType =
    std::conditional_t<kIsFloat<T>, double, std::conditional_t<kIsComplex<T>, std::complex<double>, uint64_t>>;

template <typename T>
WideType<T> Widen(T x) {
  if constexpr (kIsFloat<T>) {
    return ToDouble(x);
  } else {
    return static_cast<WideType<T>>(x);
  }
}

template <typename T>
T Narrow(WideType<T> x) {
  if constexpr (kIsFloat<T>) {
    return FromDouble<T>(x);
  } else if constexpr (std::is_same_v<T, bool>) {
    return x != 0;
  } else {
    return static_cast<T>(x);
  }
}

// As the visitors of runtime/kernel/element.h: numbers, bool, complex numbers.
template <typename Visit>
bool VisitWidened(DType type, Visit&& visit) {
  if (type == DType::kComplex64) return visit(TypeTag<std::complex<float>>()), true;
  if (type == DType::kComplex128) return visit(TypeTag<std::complex<double>>()), true;
  return VisitNumbersAndBool(type, visit);
}

}  // namespace amp

#endif  // AMP_RUNTIME_REFERENCE_WIDE_ARITHMETIC_H_
