// float16 and bfloat16 from float32 and back.
#include "runtime/loops/raw/lanes.h"
#include "runtime/loops/raw/loops.h"

namespace amp::AMP_LOOPS_ISA {

extern const ConvertLoops kConvert;

namespace {

// ---- as many as a register holds ----------------------------------------------------------------------------------

Floats WidenBfloat16(Halves x) { return Bits<Floats>(__builtin_convertvector(x, Words) << 16); }

Halves NarrowToBfloat16(Floats x) {
  const Words bits = Bits<Words>(x);
  const Words rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return __builtin_convertvector(x != x ? (bits >> 16) | 0x40u : rounded, Halves);
}

#if defined(__AVX512F__)
Floats WidenFloat16(Halves x) { return _mm512_maskz_cvtph_ps(kAllLanes, Bits<__m256i>(x)); }
Halves NarrowToFloat16(Floats x) {
  return Bits<Halves>(_mm512_maskz_cvtps_ph(kAllLanes, x, _MM_FROUND_TO_NEAREST_INT));
}
#elif defined(__F16C__) && defined(__AVX2__)
Floats WidenFloat16(Halves x) { return _mm256_cvtph_ps(Bits<__m128i>(x)); }
Halves NarrowToFloat16(Floats x) { return Bits<Halves>(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT)); }
#else
// The exponent moves by a product; subnormal numbers come right that way, too.
Floats WidenFloat16(Halves x) {
  const Words bits = __builtin_convertvector(x, Words);
  const Words magnitude = (bits & 0x7fffu) << 13;
  const Floats scaled = Bits<Floats>(magnitude) * 0x1p+112f;
  const Words special = magnitude | 0x7f800000u;
  const Words result = magnitude >= (0x7c00u << 13) ? special : Bits<Words>(scaled);
  return Bits<Floats>(result | ((bits & 0x8000u) << 16));
}

// Subnormal results: the sum with 2^-1 rounds at their last place. Others: as for bfloat16.
Halves NarrowToFloat16(Floats x) {
  const Words bits = Bits<Words>(x);
  const Words magnitude = bits & 0x7fffffffu;
  const Words subnormal = Bits<Words>(Abs(x) + 0.5f) - 0x3f000000u;
  const Words normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  const Words finite = magnitude < 0x38800000u ? subnormal : normal;
  const Words nan = (magnitude >> 13 & 0x3ffu) | 0x7e00u;
  const Words result = magnitude > 0x7f800000u ? nan : magnitude >= 0x477ff000u ? Words{} + 0x7c00u : finite;
  return __builtin_convertvector(result | (bits >> 16 & 0x8000u), Halves);
}
#endif

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
