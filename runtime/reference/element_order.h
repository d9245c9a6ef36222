// The order of elements in which operators look for the largest, sort and find equal ones. NaN comes after all other
// numbers and is equal to itself, as NumPy has it; complex numbers go by their real part first, strings byte by byte.
#ifndef AMP_RUNTIME_REFERENCE_ELEMENT_ORDER_H_
#define AMP_RUNTIME_REFERENCE_ELEMENT_ORDER_H_

#include <cmath>
#include <complex>
#include <type_traits>

namespace amp {

// A strict weak order of the values that Load returns, of complex numbers and of strings.
template <typename T>
bool ComesBefore(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a < b || (std::isnan(b) && !std::isnan(a));
  } else {
    return a < b;
  }
}
template <typename T>
bool ComesBefore(const std::complex<T>& a, const std::complex<T>& b) {
  if (ComesBefore(a.real(), b.real())) return true;
  return !ComesBefore(b.real(), a.real()) && ComesBefore(a.imag(), b.imag());
}

}  // namespace amp

#endif  // AMP_RUNTIME_REFERENCE_ELEMENT_ORDER_H_
