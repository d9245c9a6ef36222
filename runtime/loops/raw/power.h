// Powers of float32 by float32, within 1 unit in the last place: logarithm and exponential are computed in float64.
#ifndef AMP_RUNTIME_LOOPS_RAW_POWER_H_
#define AMP_RUNTIME_LOOPS_RAW_POWER_H_

#include "runtime/loops/raw/functions.h"
#include "runtime/loops/raw/lanes.h"

namespace amp::AMP_LOOPS_ISA {

// Numbers below 2^51 lie in the last bits of their sum with this.
inline constexpr double kMagicDouble = 6755399441055744.0;  // 1.5 * 2^52

// To 2^-36, relative. REQUIRES: x > 0 and finite, no subnormal float64.
inline Doubles Log2(Doubles x) {
  constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd, kOne = 0x3ff0000000000000;
  const LongWords bits = Bits<LongWords>(x) - kSqrtHalf + kOne;
  const LongWords of_exponent = (bits >> 52) + 0x4330000000000000;  // 2^52 plus the exponent
  const Doubles exponent = Bits<Doubles>(of_exponent) - (0x1p52 + 1023);
  const Doubles rest = Bits<Doubles>((bits & 0x000fffffffffffffu) + kSqrtHalf);  // in [sqrt(1/2), sqrt(2))
  // log(rest) = 2 artanh((rest - 1) / (rest + 1))
  const Doubles ratio = (rest - 1) / (rest + 1), square = ratio * ratio;
  const Doubles series =
      1 + square * (1 / 3.0 +
                    square * (1 / 5.0 +
                              square * (1 / 7.0 + square * (1 / 9.0 + square * (1 / 11.0 + square * (1 / 13.0))))));
  return exponent + ratio * series * 2.88539008177792681472;  // 2 / ln 2
}

// To 2^-32, relative. Beyond ±200 it is what it is at ±200.
inline Doubles Exp2(Doubles x) {
  x = x > 200.0 ? Doubles{} + 200.0 : x;
  x = x < -200.0 ? Doubles{} - 200.0 : x;
  const Doubles shifted = x + kMagicDouble;
  const Doubles rest = (x - (shifted - kMagicDouble)) * 0.693147180559945309;
  const Doubles power =
      1 +
      rest * (1 + rest * (1 / 2.0 +
                          rest * (1 / 6.0 +
                                  rest * (1 / 24.0 +
                                          rest * (1 / 120.0 +
                                                  rest * (1 / 720.0 + rest * (1 / 5040.0 + rest * (1 / 40320.0))))))));
  return Bits<Doubles>(Bits<LongWords>(power) + (Bits<LongWords>(shifted) << 52));
}

// As the C library's pow has it: whatever the other, 1 to any power and the power of 0 are 1.
inline Floats Power(Floats x, Floats y) {
  const Floats magnitude = Abs(x);
  const auto raise = [](Doubles base, Doubles exponent) {
    // A stand-in replaces the logarithm of 0 and of infinity: every exponent takes it out of float32.
    Doubles logarithm = Log2(base > 0 ? base : Doubles{} + 1);
    logarithm = base == 0 ? Doubles{} - 1e300 : logarithm;
    logarithm = base > 1e300 ? Doubles{} + 1e300 : logarithm;
    return Exp2(exponent * logarithm);
  };
  const Ints is_whole = Floor(y) == y;
  const Ints is_odd = is_whole & (Abs(y) < 16777216.0f) &
                      ((__builtin_convertvector(Abs(y) < 16777216.0f ? y : Floats{}, Ints) & 1) != 0);
  const Ints is_one = (magnitude == 1) | (y == 0);
  Floats result = is_one ? Splat(1) : ZipDoubles(magnitude, y, raise);
  result = (Bits<Ints>(x) < 0) & is_odd ? -result : result;
  const Ints has_no_root = (x < 0) & (x > -kInfinity) & ~is_whole;
  const Ints is_nan = (has_no_root | (x != x) | (y != y)) & (x != 1) & (y != 0);
  return is_nan ? Splat(__builtin_nanf("")) : result;
}

}  // namespace amp::AMP_LOOPS_ISA

#endif  // AMP_RUNTIME_LOOPS_RAW_POWER_H_
