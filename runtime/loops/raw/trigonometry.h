// Trigonometric and hyperbolic functions and their inverses, as many at once as a register holds. All are within 4
// units in the last place over the whole range of float32.
//
// The polynomials are those of Cephes (S. Moshier).
#ifndef AMP_RUNTIME_LOOPS_RAW_TRIGONOMETRY_H_
#define AMP_RUNTIME_LOOPS_RAW_TRIGONOMETRY_H_

#include "runtime/loops/raw/functions.h"
#include "runtime/loops/raw/lanes.h"

namespace amp::AMP_LOOPS_ISA {

inline constexpr float kPi = 3.14159265358979324f, kHalfPi = 1.57079632679489662f;

// ---- sine, cosine, tangent ----------------------------------------------------------------------------------------

// x = quarters * pi / 2 + rest.
struct QuarterTurns {
  Ints quarters;
  Floats rest;  // |rest| < 0.8
};

// Larger arguments than this are left to the C library, one by one: a product with pi needs more digits there.
inline constexpr float kMostTurned = 131072;

// REQUIRES: |x| ≤ kMostTurned; of others it makes something finite.
inline QuarterTurns QuarterTurnsOf(Floats x) {
  x = Abs(x) <= kMostTurned ? x : Floats{};
  const Floats whole = RoundToEven(x * 0.636619772367581343f);
  // pi / 2 in two parts: a product of the first with 20 bits is exact.
  constexpr double kHead = 1.57079632673412561417e+00, kTail = 6.07710050650619224932e-11;
  const auto reduce = [](Doubles angle, Doubles quarters) { return angle - quarters * kHead - quarters * kTail; };
  return {__builtin_convertvector(whole, Ints), ZipDoubles(x, whole, reduce)};
}

inline Floats SinOfRest(Floats x) {
  constexpr float kTerms[] = {-1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f};
  const Floats square = x * x;
  return Polynomial(square, kTerms) * (square * x) + x;
}

inline Floats CosOfRest(Floats x) {
  constexpr float kTerms[] = {2.443315711809948e-5f, -1.388731625493765e-3f, 4.166664568298827e-2f};
  const Floats square = x * x;
  return Polynomial(square, kTerms) * (square * square) + (1 - 0.5f * square);
}

// `result`, but what the C library makes of arguments that are too large for us. An element's result does not depend on
// those beside it.
template <typename Of>
inline Floats WithLargeArguments(Floats x, Floats result, Of of) {
  const Ints fits = Abs(x) <= kMostTurned;
  if (__builtin_expect(AllOf(fits), 1)) return result;
  for (size_t i = 0; i < kLanes; ++i) {
    if (fits[i] == 0) result[i] = of(x[i]);
  }
  return result;
}

// The sine of rest after so many quarters of a turn.
inline Floats SinAfter(Ints quarters, Floats rest) {
  const Floats magnitude = (quarters & 1) != 0 ? CosOfRest(rest) : SinOfRest(rest);
  return Bits<Floats>(Bits<Words>(magnitude) ^ (Bits<Words>(quarters & 2) << 30));
}

// The result of an odd function is -0 for -0, of which whole quarters of a turn leave +0.
inline Floats WithSignOfZero(Floats x, Floats result) { return x == 0 ? x : result; }

inline Floats Sin(Floats x) {
  const QuarterTurns turns = QuarterTurnsOf(x);
  const Floats result = WithSignOfZero(x, SinAfter(turns.quarters, turns.rest));
  return WithLargeArguments(x, result, [](float v) { return __builtin_sinf(v); });
}

inline Floats Cos(Floats x) {
  const QuarterTurns turns = QuarterTurnsOf(x);
  return WithLargeArguments(x, SinAfter(turns.quarters + 1, turns.rest), [](float v) { return __builtin_cosf(v); });
}

inline Floats Tan(Floats x) {
  constexpr float kTerms[] = {9.38540185543e-3f, 3.11992232697e-3f, 2.44301354525e-2f,
                              5.34112807005e-2f, 1.33387994085e-1f, 3.33331568548e-1f};
  const QuarterTurns turns = QuarterTurnsOf(x);
  const Floats square = turns.rest * turns.rest;
  const Floats tangent = Polynomial(square, kTerms) * (square * turns.rest) + turns.rest;
  const Floats result = WithSignOfZero(x, (turns.quarters & 1) != 0 ? -1 / tangent : tangent);
  return WithLargeArguments(x, result, [](float v) { return __builtin_tanf(v); });
}

// ---- their inverses -----------------------------------------------------------------------------------------------

// asin(x) of |x| ≤ 1/2, given the square of x.
inline Floats AsinOfSmall(Floats x, Floats square) {
  constexpr float kTerms[] = {4.2163199048e-2f, 2.4181311049e-2f, 4.5470025998e-2f, 7.4953002686e-2f, 1.6666752422e-1f};
  return Polynomial(square, kTerms) * (square * x) + x;
}

// Beyond ±1 the root is NaN, and so is the result.
inline Floats Asin(Floats x) {
  const Floats magnitude = Abs(x);
  const Ints large = magnitude > 0.5f;
  const Floats square = large ? 0.5f * (1 - magnitude) : x * x;
  const Floats angle = AsinOfSmall(large ? Sqrt(square) : magnitude, square);
  return WithSignOf(x, large ? kHalfPi - 2 * angle : angle);
}

inline Floats Acos(Floats x) {
  const Floats magnitude = Abs(x);
  const Ints large = magnitude > 0.5f;
  const Floats square = large ? 0.5f * (1 - magnitude) : x * x;
  const Floats angle = AsinOfSmall(large ? Sqrt(square) : x, square);
  const Floats twice = angle + angle;
  return large ? (x < 0 ? kPi - twice : twice) : kHalfPi - angle;
}

inline Floats Atan(Floats x) {
  constexpr float kTerms[] = {8.05374449538e-2f, -1.38776856032e-1f, 1.99777106478e-1f, -3.33329491539e-1f};
  const Floats magnitude = Abs(x);
  const Ints large = magnitude > 2.414213562373095f, medium = magnitude > 0.4142135623730950f;
  const Floats above = large ? Splat(-1) : medium ? magnitude - 1 : magnitude;
  const Floats below = large ? magnitude : medium ? magnitude + 1 : Splat(1);
  const Floats start = large ? Splat(kHalfPi) : medium ? Splat(kHalfPi / 2) : Floats{};
  const Floats rest = above / below;
  const Floats square = rest * rest;
  return WithSignOf(x, start + (Polynomial(square, kTerms) * (square * rest) + rest));
}

// ---- hyperbolic functions -----------------------------------------------------------------------------------------

// exp(x) / 2 of x ≥ 0: it is finite where sinh(x) and cosh(x) are.
inline Floats HalfExp(Floats x) {
  const Halvings halvings = HalvingsOf(x > 90.0f ? Splat(90) : x);
  return Scale(SmallExpMinus1(halvings.rest) + 1, halvings.whole - 1);
}

inline Floats Sinh(Floats x) {
  constexpr float kTerms[] = {2.03721912945e-4f, 8.33028376239e-3f, 1.66667160211e-1f};
  const Floats square = x * x, half = HalfExp(Abs(x));
  const Floats large = WithSignOf(x, half - 0.25f / half);
  return Abs(x) > 1.0f ? large : Polynomial(square, kTerms) * (square * x) + x;
}

inline Floats Cosh(Floats x) {
  const Floats half = HalfExp(Abs(x));
  return half + 0.25f / half;
}

// log(1 + x) of any x ≥ 0.
inline Floats LogOf1PlusAny(Floats x) { return x < 2.0f ? LogOf1Plus(x) : Log(x + 1); }

inline Floats Asinh(Floats x) {
  const Floats magnitude = Abs(x), square = magnitude * magnitude;
  const Floats small = LogOf1PlusAny(magnitude + square / (1 + Sqrt(square + 1)));
  const Floats large = Log(magnitude) + 0.693147180559945309f;
  return WithSignOf(x, magnitude > 4096.0f ? large : small);
}

// Below 1 the root or the logarithm is NaN, and so is the result.
inline Floats Acosh(Floats x) {
  const Floats above = x - 1;
  const Floats small = LogOf1PlusAny(above + Sqrt(above * (above + 2)));
  const Floats result = x > 4096.0f ? Log(x) + 0.693147180559945309f : small;
  return x < 1 ? Splat(__builtin_nanf("")) : result;
}

// Beyond ±1 it is NaN.
inline Floats Atanh(Floats x) {
  const Floats magnitude = Abs(x), twice = magnitude + magnitude;
  const Floats ratio = magnitude < 0.5f ? twice + twice * magnitude / (1 - magnitude) : twice / (1 - magnitude);
  const Floats result = WithSignOf(x, 0.5f * LogOf1PlusAny(ratio));
  return magnitude > 1 ? Splat(__builtin_nanf("")) : result;
}

}  // namespace amp::AMP_LOOPS_ISA

#endif  // AMP_RUNTIME_LOOPS_RAW_TRIGONOMETRY_H_
