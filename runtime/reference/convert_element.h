// One number as an element of another type: what Cast does, and whatever else stores results of another type.
//
//   ConvertElement<int8_t>(int64_t{200}) == -56         // the lowest bits count
//   ConvertElement<Float16>(70000.0)                    // infinity
//   ConvertElement<TinyFloat<DType::kFloat8E4M3FN>>(1000.0)   // 448, or NaN without saturation
//
// Numbers come in three forms, which hold every number of every type: double, int64_t, uint64_t.
#ifndef AMP_RUNTIME_REFERENCE_CONVERT_ELEMENT_H_
#define AMP_RUNTIME_REFERENCE_CONVERT_ELEMENT_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "runtime/kernel/element.h"

namespace amp {

struct ConvertRules {
  enum class Round { kUp, kDown, kNearest };
  bool saturate = true;           // floats of 8 bits
  Round e8m0_round = Round::kUp;  // magnitudes; kNearest: ties up
};

// Calls `visit` with every type that ConvertElement knows: numbers and bool.
template <typename Visit>
bool VisitConvertible(DType type, Visit&& visit) {
  return VisitNumbersAndBool(type, visit) || VisitTinyTypes(type, visit);
}

// The form in which a type's numbers are converted.
template <typename T>
using WideType = std::conditional_t<kIsFloat<T>, double, std::conditional_t<std::is_same_v<T, uint64_t>, T, int64_t>>;
template <typename T>
WideType<T> Widen(T x) {
  if constexpr (kIsFloat<T>) {
    return ToDouble(x);
  } else if constexpr (kIsTinyInt<T>) {
    return x.value;
  } else {
    return static_cast<WideType<T>>(x);
  }
}

// Converts towards zero. ONNX leaves open what becomes of numbers that do not fit. Here they become what x86 makes of
// them: NaN and numbers that fit no int32 (for types up to 16 bits and int32) or no int64 (else) become the least of
// those, of which the lowest bits are taken.
template <typename T>
T TruncateTo(double x) {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  if (std::is_same_v<T, uint64_t> && x >= kTwoTo63 && x < 2 * kTwoTo63) return static_cast<T>(x);
  using Register = std::conditional_t<sizeof(T) <= 2 || std::is_same_v<T, int32_t>, int32_t, int64_t>;
  constexpr auto kLeast = std::numeric_limits<Register>::min();
  const double whole = std::trunc(x);
  const bool fits = whole >= static_cast<double>(kLeast) && whole < -static_cast<double>(kLeast);
  return static_cast<T>(fits ? static_cast<Register>(whole) : kLeast);
}

// An integer as a float64 that rounds to any smaller float as the integer itself would: bits that float64 has no room
// for leave a trace in the last one (rounding to odd).
double ToDoubleForRounding(int64_t x);
double ToDoubleForRounding(uint64_t x);

uint8_t ConvertToE8M0(double x, const ConvertRules& rules);
uint8_t ConvertToTinyFloat(double x, DType type, const ConvertRules& rules);

template <DType type>
TinyInt<type> LowestBits(uint64_t x) {
  using Wide = typename TinyInt<type>::Wide;
  constexpr int kAbove = 8 - TinyInt<type>::kBits;
  const auto shifted = static_cast<Wide>(static_cast<uint8_t>(x << kAbove));
  return {static_cast<Wide>(shifted >> kAbove)};  // with the sign, where Wide has one
}

template <typename T>
struct ElementConverter {
  template <typename From>
  static T Convert(From x, const ConvertRules&) {
    if constexpr (std::is_same_v<T, bool>) {
      return x != 0;
    } else if constexpr (std::is_integral_v<T>) {
      if constexpr (std::is_same_v<From, double>)
        return TruncateTo<T>(x);
      else
        return static_cast<T>(x);
    } else if constexpr (std::is_same_v<From, double>) {
      return FromDouble<T>(x);
    } else if constexpr (std::is_same_v<T, double>) {
      return static_cast<double>(x);
    } else {
      return FromDouble<T>(ToDoubleForRounding(x));
    }
  }
};
template <DType type>
struct ElementConverter<TinyFloat<type>> {
  template <typename From>
  static TinyFloat<type> Convert(From x, const ConvertRules& rules) {
    if constexpr (std::is_same_v<From, double>) {
      return {ConvertToTinyFloat(x, type, rules)};
    } else {
      return {ConvertToTinyFloat(ToDoubleForRounding(x), type, rules)};
    }
  }
};
template <DType type>
struct ElementConverter<TinyInt<type>> {
  template <typename From>
  static TinyInt<type> Convert(From x, const ConvertRules&) {
    if constexpr (std::is_same_v<From, double>) {
      return LowestBits<type>(static_cast<uint64_t>(TruncateTo<int32_t>(x)));
    } else {
      return LowestBits<type>(static_cast<uint64_t>(x));
    }
  }
};

// REQUIRES: From is double, int64_t or uint64_t.
template <typename T, typename From>
T ConvertElement(From x, const ConvertRules& rules = {}) {
  return ElementConverter<T>::Convert(x, rules);
}

}  // namespace amp

#endif  // AMP_RUNTIME_REFERENCE_CONVERT_ELEMENT_H_
