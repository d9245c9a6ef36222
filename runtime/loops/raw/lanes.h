// As many float32 as one register holds, for what is compiled once for every instruction set.
//
//   Map(x, y, count, [](Floats v) { return v * v; });
//
// Everything here is in the instruction set's own namespace, so that no two of them ever share a function.
#ifndef AMP_RUNTIME_LOOPS_RAW_LANES_H_
#define AMP_RUNTIME_LOOPS_RAW_LANES_H_

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <immintrin.h>  // all of it always inlined
#endif

namespace amp::AMP_LOOPS_ISA {

#if defined(__AVX512F__)
inline constexpr size_t kLanes = 16;
#elif defined(__AVX2__)
inline constexpr size_t kLanes = 8;
#else
inline constexpr size_t kLanes = 4;
#endif

using Floats = float __attribute__((vector_size(4 * kLanes)));
using Ints = int32_t __attribute__((vector_size(4 * kLanes)));
using Words = uint32_t __attribute__((vector_size(4 * kLanes)));
using Halves = uint16_t __attribute__((vector_size(2 * kLanes)));
// A register of these holds half as many.
using Doubles = double __attribute__((vector_size(4 * kLanes)));
using LongWords = uint64_t __attribute__((vector_size(4 * kLanes)));

template <typename To, typename From>
inline To Bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

template <typename Vector, typename T>
inline Vector LoadAs(const T* from) {
  Vector vector;
  __builtin_memcpy(&vector, from, sizeof(vector));
  return vector;
}
inline Floats Load(const float* from) { return LoadAs<Floats>(from); }
template <typename Vector, typename T>
inline void Store(Vector vector, T* to) {
  __builtin_memcpy(to, &vector, sizeof(vector));
}

inline Floats Splat(float x) { return x - Floats{}; }  // -0 too
inline Floats Abs(Floats x) { return Bits<Floats>(Bits<Words>(x) & 0x7fffffffu); }
inline Floats WithSignOf(Floats sign, Floats magnitude) {
  return Bits<Floats>((Bits<Words>(magnitude) & 0x7fffffffu) | (Bits<Words>(sign) & 0x80000000u));
}
// Where either is NaN: NaN. The processor's own give b then.
#if defined(__AVX512F__)
inline constexpr __mmask16 kAllLanes = 0xffff;  // GCC 12 warns where functions without a mask leave lanes undefined
inline Floats Max(Floats a, Floats b) {
  return _mm512_mask_mov_ps(_mm512_maskz_max_ps(kAllLanes, a, b), _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), a);
}
inline Floats Min(Floats a, Floats b) {
  return _mm512_mask_mov_ps(_mm512_maskz_min_ps(kAllLanes, a, b), _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), a);
}
#elif defined(__AVX2__)
inline Floats Max(Floats a, Floats b) {
  return _mm256_blendv_ps(_mm256_max_ps(a, b), a, _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
}
inline Floats Min(Floats a, Floats b) {
  return _mm256_blendv_ps(_mm256_min_ps(a, b), a, _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
}
#else
inline Floats Max(Floats a, Floats b) { return ((a > b) | (a != a)) ? a : b; }
inline Floats Min(Floats a, Floats b) { return ((a < b) | (a != a)) ? a : b; }
#endif

#if defined(__AVX512F__)
inline Floats Sqrt(Floats x) { return _mm512_maskz_sqrt_ps(kAllLanes, x); }
inline Floats Floor(Floats x) {
  return _mm512_maskz_roundscale_ps(kAllLanes, x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
inline Floats Ceil(Floats x) {
  return _mm512_maskz_roundscale_ps(kAllLanes, x, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}
inline Floats RoundToEven(Floats x) {
  return _mm512_maskz_roundscale_ps(kAllLanes, x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
#elif defined(__AVX2__)
inline Floats Sqrt(Floats x) { return _mm256_sqrt_ps(x); }
inline Floats Floor(Floats x) { return _mm256_floor_ps(x); }
inline Floats Ceil(Floats x) { return _mm256_ceil_ps(x); }
inline Floats RoundToEven(Floats x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
#else
#if defined(__SSE2__)
inline Floats Sqrt(Floats x) { return _mm_sqrt_ps(x); }
#else
inline Floats Sqrt(Floats x) {
  for (size_t i = 0; i < kLanes; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
}
#endif
// Numbers of 2^23 and more are whole. The sum has no room for a fraction.
inline Floats RoundToEven(Floats x) {
  const Floats magic = Splat(8388608);
  const Floats rounded = WithSignOf(x, Abs(x) + magic - magic);
  return Abs(x) < magic ? rounded : x;
}
inline Floats Floor(Floats x) {
  const Floats rounded = RoundToEven(x);
  return rounded > x ? rounded - 1 : rounded;
}
inline Floats Ceil(Floats x) {
  const Floats rounded = RoundToEven(x);
  return WithSignOf(x, rounded < x ? rounded + 1 : rounded);
}
#endif

// Whether a comparison holds in all lanes.
inline bool AllOf(Ints lanes) {
#if defined(__AVX512F__)
  return _mm512_test_epi32_mask(Bits<__m512i>(lanes), Bits<__m512i>(lanes)) == kAllLanes;
#elif defined(__AVX2__)
  return _mm256_movemask_ps(Bits<Floats>(lanes)) == 0xff;
#else
  Ints all = lanes;
  for (size_t i = 1; i < kLanes; ++i) all[0] &= all[i];
  return all[0] != 0;
#endif
}

// of(a, b) in float64, rounded to float32.
template <typename Of>
inline Floats ZipDoubles(Floats a, Floats b, Of of) {
  using HalfOfFloats = float __attribute__((vector_size(2 * kLanes)));
  struct Two {
    HalfOfFloats first, second;
  };
  const Two x = Bits<Two>(a), z = Bits<Two>(b);
  const auto in_doubles = [&of](HalfOfFloats v, HalfOfFloats w) {
    return __builtin_convertvector(of(__builtin_convertvector(v, Doubles), __builtin_convertvector(w, Doubles)),
                                   HalfOfFloats);
  };
  return Bits<Floats>(Two{in_doubles(x.first, z.first), in_doubles(x.second, z.second)});
}

// y = of(x), where there is at least a register full. The last elements are done together with some that come before
// them, whose old values are read in time.
template <typename Of>
[[gnu::flatten, gnu::noinline]] void MapRegisters(const float* x, float* y, size_t count, Of of) {
  const Floats last = Load(x + count - kLanes);
  for (size_t i = 0; i + kLanes < count; i += kLanes) Store(of(Load(x + i)), y + i);
  Store(of(last), y + count - kLanes);
}

template <typename Of>
[[gnu::flatten, gnu::noinline]] void ZipRegisters(const float* a, const float* b, float* y, size_t count, Of of) {
  const Floats last_a = Load(a + count - kLanes), last_b = Load(b + count - kLanes);
  for (size_t i = 0; i + kLanes < count; i += kLanes) Store(of(Load(a + i), Load(b + i)), y + i);
  Store(of(last_a, last_b), y + count - kLanes);
}

inline Floats LoadFew(const float* from, size_t count) {
  Floats vector = {};
  __builtin_memcpy(&vector, from, count * sizeof(float));
  return vector;
}

template <typename Of>
void Map(const float* x, float* y, size_t count, Of of) {
  if (count >= kLanes) return MapRegisters(x, y, count, of);
  float few[kLanes];
  Store(LoadFew(x, count), few);
  MapRegisters(few, few, kLanes, of);
  __builtin_memcpy(y, few, count * sizeof(float));
}

template <typename Of>
void Zip(const float* a, const float* b, float* y, size_t count, Of of) {
  if (count >= kLanes) return ZipRegisters(a, b, y, count, of);
  float few_a[kLanes], few_b[kLanes];
  Store(LoadFew(a, count), few_a);
  Store(LoadFew(b, count), few_b);
  ZipRegisters(few_a, few_b, few_a, kLanes, of);
  __builtin_memcpy(y, few_a, count * sizeof(float));
}

}  // namespace amp::AMP_LOOPS_ISA

#endif  // AMP_RUNTIME_LOOPS_RAW_LANES_H_
