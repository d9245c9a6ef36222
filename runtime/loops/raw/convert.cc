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
