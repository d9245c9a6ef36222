// Rows of elements that belong together: sums, extremes, and what is made of a row by way of them.
#include "runtime/loops/raw/functions.h"
#include "runtime/loops/raw/lanes.h"
#include "runtime/loops/raw/loops.h"

namespace amp::AMP_LOOPS_ISA {

extern const RowLoops kRows;

namespace {

// ---- sums ---------------------------------------------------------------------------------------------------------

constexpr size_t kAccumulators = 4;
constexpr size_t kStep = kAccumulators * kLanes;
constexpr size_t kBlock = 32 * kStep;  // in which rounding errors of float32 do not add up to much

// of(of(lane 0, lane 1), of(lane 2, lane 3)) and so on, whatever the lanes are.
template <typename T, typename Of>
inline T JoinLanes(T (&lanes)[kLanes], Of of) {
#pragma GCC unroll 4
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (size_t i = 0; i < half; ++i) lanes[i] = of(lanes[i], lanes[i + half]);
  }
  return lanes[0];
}

inline double SumOfLanes(Floats x) {
  double lanes[kLanes];
  for (size_t i = 0; i < kLanes; ++i) lanes[i] = static_cast<double>(x[i]);
  return JoinLanes(lanes, [](double a, double b) { return a + b; });
}

// The sum of of(i, x[i...]) over whole registers, where of may do something else with them.
template <typename Of>
inline double SumOfBlock(const float* x, size_t first, size_t count, Of of) {
  Floats sums[kAccumulators] = {};
  size_t i = first;
  for (; i + kStep <= first + count; i += kStep) {
#pragma GCC unroll 4
    for (size_t k = 0; k < kAccumulators; ++k) sums[k] += of(i + k * kLanes, Load(x + i + k * kLanes));
  }
  for (; i + kLanes <= first + count; i += kLanes) sums[0] += of(i, Load(x + i));
  return SumOfLanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

// Reduces all elements; of_few gets the rest at the end, with zeros behind.
template <typename Of, typename OfFew>
[[gnu::flatten]] double SumOf(const float* x, size_t count, Of of, OfFew of_few) {
  double sum = 0;
  const size_t whole = count / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kBlock) sum += SumOfBlock(x, i, whole - i < kBlock ? whole - i : kBlock, of);
  if (whole == count) return sum;
  float last[kLanes];
  Store(of_few(whole, LoadFew(x + whole, count - whole)), last);
  for (size_t i = 0; i < count - whole; ++i) sum += static_cast<double>(last[i]);
  return sum;
}

template <typename Of>
double SumOf(const float* x, size_t count, Of of) {
  const auto at = [of](size_t, Floats v) { return of(v); };
  return SumOf(x, count, at, at);
}

double Sum(const float* x, size_t count) {
  return SumOf(x, count, [](Floats v) { return v; });
}

double SumOfMagnitudes(const float* x, size_t count) {
  return SumOf(x, count, [](Floats v) { return Abs(v); });
}

double SumOfSquares(const float* x, size_t count) {
  return SumOf(x, count, [](Floats v) { return v * v; });
}

[[gnu::flatten]] Deviations DeviationsFrom(const float* x, size_t count, float centre) {
  Deviations found = {0, 0};
  const size_t whole = count / kLanes * kLanes;
  for (size_t first = 0; first < whole; first += kBlock) {
    const size_t end = whole - first < kBlock ? whole : first + kBlock;
    Floats sums[2] = {}, squares[2] = {};
    size_t i = first;
    const auto add = [&](size_t to, Floats deviation) {
      sums[to] += deviation;
      squares[to] += deviation * deviation;
    };
    for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
      add(0, Load(x + i) - centre);
      add(1, Load(x + i + kLanes) - centre);
    }
    if (i < end) add(0, Load(x + i) - centre);
    found.sum += SumOfLanes(sums[0] + sums[1]);
    found.squares += SumOfLanes(squares[0] + squares[1]);
  }
  for (size_t i = whole; i < count; ++i) {
    const double deviation = static_cast<double>(x[i]) - static_cast<double>(centre);
    found.sum += deviation;
    found.squares += deviation * deviation;
  }
  return found;
}

double SumOfPowers(const float* x, size_t count, float centre) {
  return SumOf(x, count, [centre](Floats v) { return Exp(v - centre); });
}

double Powers(const float* x, float* y, size_t count, float centre) {
  const auto keep = [=](size_t i, Floats v) {
    const Floats power = Exp(v - centre);
    Store(power, y + i);
    return power;
  };
  const auto keep_few = [=](size_t i, Floats v) {
    const Floats power = Exp(v - centre);
    __builtin_memcpy(y + i, &power, (count - i) * sizeof(float));
    return power;
  };
  return SumOf(x, count, keep, keep_few);
}

void AddTo(const float* x, double* sums, size_t count) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) sums[i] += static_cast<double>(x[i]);
}

void MultiplyTo(const float* x, double* products, size_t count) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) products[i] *= static_cast<double>(x[i]);
}

void ToFloat(const double* x, float* y, size_t count) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) y[i] = static_cast<float>(x[i]);
}

void AddScaled(const float* x, float factor, float* sums, size_t count) {
  Zip(x, sums, sums, count, [factor](Floats v, Floats sum) { return sum + v * factor; });
}

// ---- extremes -----------------------------------------------------------------------------------------------------

// An element that comes twice does not change an extreme, so the last register may overlap the one before it.
inline float MaxOfTwo(float a, float b) { return a > b || a != a ? a : b; }
inline float MinOfTwo(float a, float b) { return a < b || a != a ? a : b; }

template <Floats (*kOf)(Floats, Floats), float (*kOfTwo)(float, float)>
[[gnu::flatten]] float ExtremeOf(const float* x, size_t count) {
  const auto of_two = [](float a, float b) { return kOfTwo(a, b); };
  Floats best[2] = {Splat(x[0]), Splat(x[0])};
  size_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    best[0] = kOf(best[0], Load(x + i));
    best[1] = kOf(best[1], Load(x + i + kLanes));
  }
  if (i + kLanes <= count) best[0] = kOf(best[0], Load(x + i));
  if (count >= kLanes) best[1] = kOf(best[1], Load(x + count - kLanes));
  float lanes[kLanes];
  Store(kOf(best[0], best[1]), lanes);
  float result = JoinLanes(lanes, of_two);
  for (i = 0; i < count && count < kLanes; ++i) result = of_two(result, x[i]);
  return result;
}

// Among numbers without a sign, the order of the bits is that of the numbers; infinity and NaN are the largest.
template <typename Bits, typename T>
Bits LargestMagnitude(const T* x, size_t count) {
  constexpr auto kWithoutSign = static_cast<Bits>(static_cast<Bits>(~Bits{0}) >> 1);
  Bits largest = 0;
  for (size_t i = 0; i < count; ++i) {
    Bits bits;
    __builtin_memcpy(&bits, x + i, sizeof(bits));
    bits = static_cast<Bits>(bits & kWithoutSign);
    largest = bits > largest ? bits : largest;
  }
  return largest;
}

inline void KeepLargestOf(const float* x, size_t step, int32_t place, float* largest, int32_t* places, size_t count) {
  const auto places_step = static_cast<int32_t>(step);
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) {
    const float value = x[i * step];
    const bool takes = (value > largest[i]) | (value != value) | (places[i] < 0);
    largest[i] = takes ? value : largest[i];
    places[i] = takes ? place + static_cast<int32_t>(i) * places_step : places[i];
  }
}

// Steps that the compiler knows are read as vectors.
void KeepLargest(const float* x, size_t step, int32_t place, float* largest, int32_t* places, size_t count) {
  if (step == 1) return KeepLargestOf(x, 1, place, largest, places, count);
  if (step == 2) return KeepLargestOf(x, 2, place, largest, places, count);
  KeepLargestOf(x, step, place, largest, places, count);
}

// A register full of places, or fewer: load and store take a place in memory.
template <typename LoadAt, typename StoreAt>
[[gnu::always_inline]] inline void GiveToLargestOf(const float* const* taps, float* const* gradients, size_t num_taps,
                                                   Floats g, LoadAt load, StoreAt store) {
  Floats largest = load(taps[0]);
  Ints which = {};
  for (size_t k = 1; k < num_taps; ++k) {
    const Floats value = load(taps[k]);
    const Ints takes = (value > largest) | (value != value);
    largest = takes ? value : largest;
    which = takes ? Ints{} + static_cast<int32_t>(k) : which;
  }
  for (size_t k = 0; k < num_taps; ++k) {
    const Floats sum = load(gradients[k]) + (which == static_cast<int32_t>(k) ? g : Floats{});
    store(sum, gradients[k]);
  }
}

[[gnu::flatten]] void GiveToLargest(const float* const* taps, float* const* gradients, size_t num_taps, const float* g,
                                    size_t count) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    GiveToLargestOf(
        taps, gradients, num_taps, Load(g + i), [i](const float* from) { return Load(from + i); },
        [i](Floats sum, float* to) { Store(sum, to + i); });
  }
  if (i == count) return;
  const size_t rest = count - i;
  GiveToLargestOf(
      taps, gradients, num_taps, LoadFew(g + i, rest), [=](const float* from) { return LoadFew(from + i, rest); },
      [=](Floats sum, float* to) { __builtin_memcpy(to + i, &sum, rest * sizeof(float)); });
}

// `count` elements of every tap, registers first; of fewer than a register one by one.
template <typename Of, typename OfTwo>
[[gnu::always_inline]] inline void JoinTapsOf(const float* const* taps, size_t num_taps, size_t at, float* y,
                                              size_t count, Of of, OfTwo of_two) {
  const auto join = [&](size_t i) {
    Floats joined = Load(taps[0] + at + i);
    for (size_t k = 1; k < num_taps; ++k) joined = of(joined, Load(taps[k] + at + i));
    Store(joined, y + i);
  };
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) join(i);
  if (i < count && count >= kLanes) return join(count - kLanes);
  for (; i < count; ++i) {
    float joined = taps[0][at + i];
    for (size_t k = 1; k < num_taps; ++k) joined = of_two(joined, taps[k][at + i]);
    y[i] = joined;
  }
}

[[gnu::flatten]] void LargestOfTaps(const float* const* taps, size_t num_taps, size_t step, float* y, size_t count,
                                    size_t columns) {
  const auto of = [](Floats a, Floats b) { return Max(a, b); };
  const auto of_two = [](float a, float b) { return MaxOfTwo(a, b); };
  for (size_t c = 0; c < columns; ++c) JoinTapsOf(taps, num_taps, c * step, y + c * count, count, of, of_two);
}

[[gnu::flatten]] void SumOfTaps(const float* const* taps, size_t num_taps, size_t step, float* y, size_t count,
                                size_t columns) {
  const auto add = [](auto a, auto b) { return a + b; };
  for (size_t c = 0; c < columns; ++c) JoinTapsOf(taps, num_taps, c * step, y + c * count, count, add, add);
}

// `beats(a, b)`: whether a takes the place of b, which came before; not asked of what is not a number.
template <typename Beats>
[[gnu::always_inline]] inline void TakeExtremes(const float* row, int32_t place, float* best, int32_t* places,
                                                size_t count, bool takes_last, Beats beats) {
#pragma GCC ivdep
  for (size_t c = 0; c < count; ++c) {
    const float a = row[c], b = best[c];
    const bool a_is_nan = a != a, b_is_number = b == b;
    const bool takes = (beats(a, b) & b_is_number) | (a_is_nan & (b_is_number | takes_last));
    best[c] = takes ? a : b;
    places[c] = takes ? place : places[c];
  }
}

void TakeFirstLargest(const float* row, int32_t place, float* best, int32_t* places, size_t count) {
  TakeExtremes(row, place, best, places, count, false, [](float a, float b) { return a > b; });
}
void TakeLastLargest(const float* row, int32_t place, float* best, int32_t* places, size_t count) {
  TakeExtremes(row, place, best, places, count, true, [](float a, float b) { return a >= b; });
}
void TakeFirstSmallest(const float* row, int32_t place, float* best, int32_t* places, size_t count) {
  TakeExtremes(row, place, best, places, count, false, [](float a, float b) { return a < b; });
}
void TakeLastSmallest(const float* row, int32_t place, float* best, int32_t* places, size_t count) {
  TakeExtremes(row, place, best, places, count, true, [](float a, float b) { return a <= b; });
}

void SplitPairs(const float* x, float* even, float* odd, size_t count) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) {
    even[i] = x[2 * i];
    odd[i] = x[2 * i + 1];
  }
}

// ---- affine functions ---------------------------------------------------------------------------------------------

inline Floats Apply(Floats x, Affine f) { return (x - f.centre) * f.factor + f.shift; }

void Transform(const float* x, float* y, size_t count, Affine affine) {
  Map(x, y, count, [affine](Floats v) { return Apply(v, affine); });
}

void TransformScaled(const float* x, float* y, size_t count, Affine affine, const float* scale, const float* bias) {
  if (bias == nullptr) return Zip(x, scale, y, count, [=](Floats v, Floats s) { return Apply(v, affine) * s; });
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Store(Apply(Load(x + i), affine) * Load(scale + i) + Load(bias + i), y + i);
  }
  for (; i < count; ++i) y[i] = ((x[i] - affine.centre) * affine.factor + affine.shift) * scale[i] + bias[i];
}

void TransformEach(const float* x, float* y, size_t count, const float* centre, const float* factor,
                   const float* shift) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) y[i] = (x[i] - centre[i]) * factor[i] + shift[i];
}

}  // namespace

const RowLoops kRows = {
    .sum = Sum,
    .sum_of_magnitudes = SumOfMagnitudes,
    .sum_of_squares = SumOfSquares,
    .deviations = DeviationsFrom,
    .max = ExtremeOf<Max, MaxOfTwo>,
    .min = ExtremeOf<Min, MinOfTwo>,
    .largest_magnitude = LargestMagnitude<uint32_t, float>,
    .largest_magnitude_of_16_bits = LargestMagnitude<uint16_t, uint16_t>,
    .keep_largest = KeepLargest,
    .give_to_largest = GiveToLargest,
    .largest_of_taps = LargestOfTaps,
    .sum_of_taps = SumOfTaps,
    .take_first_largest = TakeFirstLargest,
    .take_last_largest = TakeLastLargest,
    .take_first_smallest = TakeFirstSmallest,
    .take_last_smallest = TakeLastSmallest,
    .split_pairs = SplitPairs,
    .sum_of_powers = SumOfPowers,
    .powers = Powers,
    .add_to = AddTo,
    .multiply_to = MultiplyTo,
    .to_float = ToFloat,
    .add_scaled = AddScaled,
    .transform = Transform,
    .transform_scaled = TransformScaled,
    .transform_each = TransformEach,
};

}  // namespace amp::AMP_LOOPS_ISA
