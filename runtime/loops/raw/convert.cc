// float16 and bfloat16 from float32 and back.
#include "runtime/loops/raw/halves.h"
#include "runtime/loops/raw/lanes.h"
#include "runtime/loops/raw/loops.h"

namespace amp::AMP_LOOPS_ISA {

extern const ConvertLoops kConvert;

namespace {

// ---- any number of them -------------------------------------------------------------------------------------------

template <auto kOf>
[[gnu::flatten]] void Widen(const uint16_t* from, float* to, size_t count) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) Store(kOf(LoadAs<Halves>(from + i)), to + i);
  if (i == count) return;
  Halves few = {};
  __builtin_memcpy(&few, from + i, (count - i) * sizeof(uint16_t));
  const Floats wide = kOf(few);
  __builtin_memcpy(to + i, &wide, (count - i) * sizeof(float));
}

template <auto kOf>
[[gnu::flatten]] void Narrow(const float* from, uint16_t* to, size_t count) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) Store(kOf(Load(from + i)), to + i);
  if (i == count) return;
  const Halves few = kOf(LoadFew(from + i, count - i));
  __builtin_memcpy(to + i, &few, (count - i) * sizeof(uint16_t));
}

template <Floats (*kOf)(Floats)>
void Round(float* x, size_t count) {
  Map(x, x, count, [](Floats v) { return kOf(v); });
}

// ---- transposed ---------------------------------------------------------------------------------------------------

constexpr size_t kSide = 8;                                // of a square that is turned in registers
constexpr size_t kDeep = kLanes > kSide ? kLanes : kSide;  // rows that are read together
constexpr size_t kLine = 64 / sizeof(uint16_t);            // elements that memory gives at once

using Eight = uint16_t __attribute__((vector_size(kSide * sizeof(uint16_t))));

// After three rounds of interleaving every row with the one that is four behind it, rows are columns. The templates of
// runtime/kernel/turn_matrix.h do the same, but are no code of one instruction set.
inline void TurnSquare(Eight (&rows)[kSide]) {
#pragma GCC unroll 3
  for (int round = 0; round < 3; ++round) {
    Eight next[kSide];
#pragma GCC unroll 4
    for (size_t i = 0; i < kSide / 2; ++i) {
      next[2 * i] = __builtin_shufflevector(rows[i], rows[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      next[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    __builtin_memcpy(rows, next, sizeof(next));
  }
}

// kDeep rows of eight columns.
template <auto kOf>
inline void WidenSquares(const uint16_t* from, size_t from_step, float* to, size_t to_step) {
  uint16_t columns[kSide][kDeep];
#pragma GCC unroll 2
  for (size_t first = 0; first < kDeep; first += kSide) {
    Eight rows[kSide];
#pragma GCC unroll 8
    for (size_t i = 0; i < kSide; ++i) rows[i] = LoadAs<Eight>(from + (first + i) * from_step);
    TurnSquare(rows);
#pragma GCC unroll 8
    for (size_t i = 0; i < kSide; ++i) Store(rows[i], columns[i] + first);
  }
#pragma GCC unroll 8
  for (size_t i = 0; i < kSide; ++i) {
#pragma GCC unroll 2
    for (size_t lane = 0; lane < kDeep; lane += kLanes) {
      Store(kOf(LoadAs<Halves>(columns[i] + lane)), to + i * to_step + lane);
    }
  }
}

template <auto kOf>
inline void WidenTurnedOneByOne(const uint16_t* from, size_t from_step, size_t rows, size_t columns, float* to,
                                size_t to_step) {
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) to[c * to_step + r] = kOf(Halves{} + from[r * from_step + c])[0];
  }
}

// Rows ahead are asked for while these are turned, as they lie too far apart for the processor to foresee them.
template <auto kOf>
[[gnu::flatten]] void WidenTurned(const uint16_t* from, size_t from_step, size_t rows, size_t columns, float* to,
                                  size_t to_step) {
  constexpr size_t kAhead = 2 * kDeep;
  const size_t whole_rows = rows / kDeep * kDeep, whole_columns = columns / kSide * kSide;
  for (size_t r = 0; r < whole_rows; r += kDeep) {
    const uint16_t* const line = from + r * from_step;
    const bool has_ahead = r + kAhead < whole_rows;
    for (size_t c = 0; c < whole_columns; c += kSide) {
      if (has_ahead && c % kLine == 0) {
        for (size_t i = 0; i < kDeep; ++i) __builtin_prefetch(line + (kAhead + i) * from_step + c);
      }
      WidenSquares<kOf>(line + c, from_step, to + c * to_step + r, to_step);
    }
  }
  WidenTurnedOneByOne<kOf>(from + whole_columns, from_step, whole_rows, columns - whole_columns,
                           to + whole_columns * to_step, to_step);
  WidenTurnedOneByOne<kOf>(from + whole_rows * from_step, from_step, rows - whole_rows, columns, to + whole_rows,
                           to_step);
}

// ---- integers -----------------------------------------------------------------------------------------------------

template <typename T>
void WidenIntegers(const T* from, float* to, size_t count) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

// Towards zero; what does not fit becomes the least number.
inline int32_t CutToInt32(float x) {
  const bool fits = x >= -0x1p31f && x < 0x1p31f;
  const auto whole = static_cast<int32_t>(fits ? x : 0);
  return fits ? whole : INT32_MIN;
}

template <typename T>
void NarrowToIntegers(const float* from, T* to, size_t count) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) to[i] = static_cast<T>(CutToInt32(from[i]));
}

void NarrowToInt64(const float* from, int64_t* to, size_t count) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) {
    const bool fits = from[i] >= -0x1p63f && from[i] < 0x1p63f;
    const auto whole = static_cast<int64_t>(fits ? from[i] : 0);
    to[i] = fits ? whole : INT64_MIN;
  }
}

void NarrowToBool(const float* from, uint8_t* to, size_t count) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) to[i] = from[i] != 0 ? 1 : 0;
}

// ---- quantized ----------------------------------------------------------------------------------------------------

using Bytes = uint8_t __attribute__((vector_size(kLanes)));
using SignedBytes = int8_t __attribute__((vector_size(kLanes)));

template <typename T, typename Result, int kLowest>
[[gnu::flatten]] void Quantize(const float* x, T* y, size_t count, float scale, float zero_point) {
  constexpr auto kLow = static_cast<float>(kLowest), kHigh = static_cast<float>(kLowest + 255);
  const auto quantize = [=](Floats v) {
    const Floats shifted = RoundToEven(v / scale) + zero_point;
    const Floats held = shifted > kHigh ? Splat(kHigh) : shifted;
    return __builtin_convertvector(__builtin_convertvector(held >= kLow ? held : Splat(kLow), Ints), Result);
  };
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) Store(quantize(Load(x + i)), y + i);
  const Result few = quantize(LoadFew(x + i, count - i));
  __builtin_memcpy(y + i, &few, count - i);
}

}  // namespace

const ConvertLoops kConvert = {
    .widen_float16 = Widen<WidenFloat16>,
    .widen_bfloat16 = Widen<WidenBfloat16>,
    .narrow_float16 = Narrow<NarrowToFloat16>,
    .narrow_bfloat16 = Narrow<NarrowToBfloat16>,
    .round_float16 = Round<RoundToFloat16>,
    .round_bfloat16 = Round<RoundToBfloat16>,
    .widen_turned_float16 = WidenTurned<WidenFloat16>,
    .widen_turned_bfloat16 = WidenTurned<WidenBfloat16>,
    .widen_int8 = WidenIntegers<int8_t>,
    .widen_uint8 = WidenIntegers<uint8_t>,
    .widen_int32 = WidenIntegers<int32_t>,
    .widen_int64 = WidenIntegers<int64_t>,
    .narrow_int8 = NarrowToIntegers<int8_t>,
    .narrow_uint8 = NarrowToIntegers<uint8_t>,
    .narrow_bool = NarrowToBool,
    .narrow_int32 = NarrowToIntegers<int32_t>,
    .narrow_int64 = NarrowToInt64,
    .quantize_int8 = Quantize<int8_t, SignedBytes, -128>,
    .quantize_uint8 = Quantize<uint8_t, Bytes, 0>,
};

}  // namespace amp::AMP_LOOPS_ISA
