// Arithmetic on quantised numbers: their meanings are computed with in float64, and quantised again. Compiled without
// fused multiply-adds, so that all processors round alike.
#include "runtime/loops/raw/loops.h"

namespace amp::AMP_LOOPS_ISA {

extern const QuantizedLoops kQuantized;

namespace {

// To the nearest whole number, ties to even, of what is far below 2^22.
inline float RoundSmall(float x) {
  constexpr float kNoFraction = 12'582'912;  // 1.5 * 2^23
  return (x + kNoFraction) - kNoFraction;
}

template <typename T>
struct Range;
template <>
struct Range<uint8_t> {
  static constexpr float kLow = 0, kHigh = 255;
};
template <>
struct Range<int8_t> {
  static constexpr float kLow = -128, kHigh = 127;
};

// REQUIRES: x is a number; the zero point is one of the type's.
template <typename T>
inline T QuantizeOne(double x, Quantized y) {
  const auto zero_point = static_cast<float>(y.zero_point);
  const float low = Range<T>::kLow - zero_point, high = Range<T>::kHigh - zero_point;
  const auto quotient = static_cast<float>(x / y.scale);
  const float least = quotient < low ? low : quotient;
  const float held = least > high ? high : least;
  return static_cast<T>(static_cast<int32_t>(RoundSmall(held) + zero_point));
}

template <typename T>
inline double NumberOf(T q, Quantized of) {
  return (static_cast<double>(q) - of.zero_point) * of.scale;
}

template <typename T, auto kOf>
void OfPairs(const QuantizedOperands<T>& operands, T* y, size_t count, const QuantizedPair& pair) {
  const T *const a = operands.a, *const b = operands.b;
  if (operands.step_a == 0) {
    const double one = NumberOf(*a, pair.a);
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i)
      y[i] = QuantizeOne<T>(kOf(one, NumberOf(b[i * operands.step_b], pair.b)), pair.y);
  } else if (operands.step_b == 0) {
    const double one = NumberOf(*b, pair.b);
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) y[i] = QuantizeOne<T>(kOf(NumberOf(a[i], pair.a), one), pair.y);
  } else {
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) {
      y[i] = QuantizeOne<T>(kOf(NumberOf(a[i], pair.a), NumberOf(b[i], pair.b)), pair.y);
    }
  }
}

inline double Plus(double a, double b) { return a + b; }
inline double Times(double a, double b) { return a * b; }

// ---- products of integers -----------------------------------------------------------------------------------------

uint32_t SumOfBytes(const uint8_t* x, size_t count) {
  uint32_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum += x[i];
  return sum;
}

void AddToSums(const uint32_t* addends, const uint32_t* factors, uint32_t factor, int32_t* sums, size_t count) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) {
    sums[i] = static_cast<int32_t>(static_cast<uint32_t>(sums[i]) + addends[i] + factor * factors[i]);
  }
}

template <typename T>
void Requantize(const int32_t* sums, const double* factors, T* y, size_t count, float zero_point) {
  const float low = Range<T>::kLow - zero_point, high = Range<T>::kHigh - zero_point;
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) {
    const auto quotient = static_cast<float>(static_cast<double>(sums[i]) * factors[i]);
    const float least = quotient < low ? low : quotient;
    const float held = least > high ? high : least;
    y[i] = static_cast<T>(static_cast<int32_t>(RoundSmall(held) + zero_point));
  }
}

// Elements of 8 bits that a table gives for others.
void LookUp(const uint8_t* x, uint8_t* y, size_t count, const uint8_t* table) {
  for (size_t i = 0; i < count; ++i) y[i] = table[x[i]];
}

}  // namespace

const QuantizedLoops kQuantized = {
    .add_uint8 = OfPairs<uint8_t, Plus>,
    .multiply_uint8 = OfPairs<uint8_t, Times>,
    .add_int8 = OfPairs<int8_t, Plus>,
    .multiply_int8 = OfPairs<int8_t, Times>,
    .look_up = LookUp,
    .sum_of_bytes = SumOfBytes,
    .add_to_sums = AddToSums,
    .requantize_uint8 = Requantize<uint8_t>,
    .requantize_int8 = Requantize<int8_t>,
};

}  // namespace amp::AMP_LOOPS_ISA
