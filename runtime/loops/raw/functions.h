// Functions of float32, as many at once as a register holds; all are within 2 units in the last place unless they say
// otherwise, on infinities and subnormal numbers too.
//
// Exponential and logarithm are those of Cephes (S. Moshier), erf is by N. Juffa, the complementary error function is
// Chebyshev's fit of Numerical Recipes.
#ifndef AMP_RUNTIME_LOOPS_RAW_FUNCTIONS_H_
#define AMP_RUNTIME_LOOPS_RAW_FUNCTIONS_H_

#include "runtime/loops/raw/lanes.h"

namespace amp::AMP_LOOPS_ISA {

inline constexpr float kInfinity = __builtin_inff();

// c[0] x^(n-1) + ... + c[n-1].
template <size_t n>
inline Floats Polynomial(Floats x, const float (&c)[n]) {
  Floats sum = Splat(c[0]);
#pragma GCC unroll 16
  for (size_t i = 1; i < n; ++i) sum = sum * x + c[i];
  return sum;
}

// x + more = whole * ln 2 + rest. REQUIRES: |x| < 2^20, or NaN; |more| < 1 or so.
struct Halvings {
  Floats whole, rest;
};
inline Halvings HalvingsOf(Floats x, Floats more) {
  const Floats magic = Splat(12582912);  // 1.5 * 2^23: the sum has no room for a fraction
  const Floats whole = (x + more) * 1.44269504088896341f + magic - magic;
  // ln 2 in two parts, the first of which is exact in products.
  return {whole, x - whole * 0.693359375f + (whole * 2.12194440e-4f + more)};
}
inline Halvings HalvingsOf(Floats x) { return HalvingsOf(x, Floats{}); }

// x * 2^whole, rounded once. REQUIRES: x in [1/2, 2], whole an integer in [-250, 250].
inline Floats Scale(Floats x, Floats whole) {
#if defined(__AVX512F__)
  return _mm512_maskz_scalef_ps(kAllLanes, x, whole);
#else
  const Ints n = __builtin_convertvector(whole, Ints);
  const Ints half = n >> 1;
  return x * Bits<Floats>((half + 127) << 23) * Bits<Floats>((n - half + 127) << 23);
#endif
}

// exp(x) - 1 of |x| ≤ 0.35.
inline Floats SmallExpMinus1(Floats x) {
  constexpr float kTerms[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                              4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};
  return Polynomial(x, kTerms) * (x * x) + x;
}

inline Floats Exp(Floats x) {
  x = x > 89.0f ? Splat(89.0f) : x;
  x = x < -104.0f ? Splat(-104.0f) : x;
  const Halvings halvings = HalvingsOf(x);
  return Scale(SmallExpMinus1(halvings.rest) + 1, halvings.whole);
}

// exp(x) - 1, small results included. REQUIRES: x ≤ 88; of more it makes what it makes of 88.
inline Floats ExpMinus1(Floats x) {
  x = x > 88.0f ? Splat(88) : x;
  x = x < -104.0f ? Splat(-104) : x;
  const Halvings halvings = HalvingsOf(x);
  const Floats power = Scale(Splat(1), halvings.whole);
  return SmallExpMinus1(halvings.rest) * power + (power - 1);
}

inline Floats Log(Floats x) {
  constexpr uint32_t kSqrtHalf = 0x3f3504f3;
  constexpr float kTerms[] = {7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,
                              -1.2420140846e-1f, 1.4249322787e-1f,  -1.6668057665e-1f,
                              2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f};
  const auto subnormal = x < 1.17549435e-38f;
  const Words bits = Bits<Words>(subnormal ? x * 8388608.0f : x) - kSqrtHalf;
  const Floats exponent = __builtin_convertvector(Bits<Ints>(bits) >> 23, Floats) - (subnormal ? Splat(23) : Splat(0));
  const Floats rest = Bits<Floats>((bits & 0x7fffffu) + kSqrtHalf) - 1;  // x is 2^exponent * (1 + rest)
  const Floats square = rest * rest;
  const Floats tail = Polynomial(rest, kTerms) * rest * square - exponent * 2.12194440e-4f - 0.5f * square;
  const Floats result = exponent * 0.693359375f + (rest + tail);
  const Floats of_others = x == 0 ? Splat(-kInfinity) : x < 0 ? Splat(__builtin_nanf("")) : x;
  return ((x > 0) & (x < kInfinity)) ? result : of_others;
}

// log(1 + x) of x in [0, 1].
inline Floats LogOf1Plus(Floats x) {
  const Floats sum = x + 1;
  return Log(sum) + (x - (sum - 1)) / sum;
}

inline Floats Sigmoid(Floats x) {
  const Floats power = Exp(-Abs(x));
  return (x < 0 ? power : Splat(1)) / (power + 1);
}

inline Floats Tanh(Floats x) {
  const Floats magnitude = Abs(x) > 20.0f ? Splat(20) : Abs(x);
  const Floats power = ExpMinus1(magnitude + magnitude);
  return WithSignOf(x, power / (power + 2));
}

inline Floats Erf(Floats x) {
  constexpr float kSmall[] = {-5.96761703e-4f, 4.99119423e-3f,  -2.67681349e-2f,
                              1.12819925e-1f,  -3.76125336e-1f, 1.28379166e-1f};
  constexpr float kLarge[] = {-1.72853470e-5f, 3.83197126e-4f,  -3.88396438e-3f, 2.42546219e-2f,
                              -1.06777877e-1f, -6.34846687e-1f, -1.28717512e-1f};
  const Floats magnitude = Abs(x) > 5.0f ? Splat(5) : Abs(x);
  const Floats exponent = Polynomial(magnitude, kLarge) * magnitude - magnitude;
  const Floats large = WithSignOf(x, 1 - Exp(exponent));
  const Floats small = Polynomial(x * x, kSmall) * x + x;
  return Abs(x) > 0.927734375f ? large : small;
}

// 1 - erf(x) of x ≥ 0, relative 1e-6 as long as it is no subnormal number.
inline Floats ErfComplement(Floats x) {
  constexpr float kTerms[] = {0.17087277f,  -0.82215223f, 1.48851587f, -1.13520398f, 0.27886807f,
                              -0.18628806f, 0.09678418f,  0.37409196f, 1.00002368f,  -1.26551223f};
  x = x > 10.5f ? Splat(10.5f) : x;
  const Floats t = 2 / (x + 2);
  // The square in two parts, the first of which is exact: the exponential needs all digits behind the point.
  const Floats head = Bits<Floats>(Bits<Words>(x) & 0xfffff000u);
  const Halvings halvings = HalvingsOf(-head * head, Polynomial(t, kTerms) - (x + head) * (x - head));
  return t * Scale(SmallExpMinus1(halvings.rest) + 1, halvings.whole);
}

}  // namespace amp::AMP_LOOPS_ISA

#endif  // AMP_RUNTIME_LOOPS_RAW_FUNCTIONS_H_
