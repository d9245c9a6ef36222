// float16 and bfloat16 from float32 and back, as many as a register holds.
#ifndef AMP_RUNTIME_LOOPS_RAW_HALVES_H_
#define AMP_RUNTIME_LOOPS_RAW_HALVES_H_

#include "runtime/loops/raw/lanes.h"

namespace amp::AMP_LOOPS_ISA {

// GCC 12 makes several instructions of a vector's conversion that is one.
#if defined(__AVX512F__)
inline Words WordsOf(Halves x) { return Bits<Words>(_mm512_maskz_cvtepu16_epi32(kAllLanes, Bits<__m256i>(x))); }
#elif defined(__AVX2__)
inline Words WordsOf(Halves x) { return Bits<Words>(_mm256_cvtepu16_epi32(Bits<__m128i>(x))); }
#else
inline Words WordsOf(Halves x) { return __builtin_convertvector(x, Words); }
#endif

inline Floats WidenBfloat16(Halves x) { return Bits<Floats>(WordsOf(x) << 16); }

inline Halves NarrowToBfloat16(Floats x) {
  const Words bits = Bits<Words>(x);
  const Words rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return __builtin_convertvector(x != x ? (bits >> 16) | 0x40u : rounded, Halves);
}

#if defined(__AVX512F__)
inline Floats WidenFloat16(Halves x) { return _mm512_maskz_cvtph_ps(kAllLanes, Bits<__m256i>(x)); }
inline Halves NarrowToFloat16(Floats x) {
  return Bits<Halves>(_mm512_maskz_cvtps_ph(kAllLanes, x, _MM_FROUND_TO_NEAREST_INT));
}
#elif defined(__F16C__) && defined(__AVX2__)
inline Floats WidenFloat16(Halves x) { return _mm256_cvtph_ps(Bits<__m128i>(x)); }
inline Halves NarrowToFloat16(Floats x) { return Bits<Halves>(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT)); }
#else
// The exponent moves by a product; subnormal numbers come right that way, too.
inline Floats WidenFloat16(Halves x) {
  const Words bits = __builtin_convertvector(x, Words);
  const Words magnitude = (bits & 0x7fffu) << 13;
  const Floats scaled = Bits<Floats>(magnitude) * 0x1p+112f;
  const Words special = magnitude | 0x7f800000u;
  const Words result = magnitude >= (0x7c00u << 13) ? special : Bits<Words>(scaled);
  return Bits<Floats>(result | ((bits & 0x8000u) << 16));
}

// Subnormal results: the sum with 2^-1 rounds at their last place. Others: as for bfloat16.
inline Halves NarrowToFloat16(Floats x) {
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

// As narrowed and widened again.
inline Floats RoundToFloat16(Floats x) { return WidenFloat16(NarrowToFloat16(x)); }
inline Floats RoundToBfloat16(Floats x) {
  const Words bits = Bits<Words>(x);
  const Words rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  return Bits<Floats>((x != x ? bits | 0x400000u : rounded) & 0xffff0000u);
}

}  // namespace amp::AMP_LOOPS_ISA

#endif  // AMP_RUNTIME_LOOPS_RAW_HALVES_H_
