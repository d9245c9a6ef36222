// AVX2 and AVX-512 loops. Each function carries its target; the file is compiled for the baseline processor.
//
// float16 is the hardware's conversion with the rounding in the instruction. bfloat16 is integer arithmetic, because
// the hardware's own instruction takes subnormal numbers for zero.
#if defined(__x86_64__)

// g++ 12 reports the deliberately undefined operands inside its own AVX-512 header where they are inlined.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <immintrin.h>

#include "ir/base/convert_kernels.h"

#define AMP_AVX2 __attribute__((target("avx2,fma,f16c")))
#define AMP_AVX512 __attribute__((target("avx512f")))

namespace amp {
namespace {

constexpr int kNearestEven = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

// ---- AVX2: 8 values at a time -------------------------------------------------------------------------------------

// Eight bfloat16 values, each in the low half of 32 bits.
AMP_AVX2 inline __m256i RoundToBfloat16Avx2(__m256i bits) {
  const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
  const __m256i top = _mm256_srli_epi32(bits, 16);
  const __m256i is_odd = _mm256_and_si256(top, _mm256_set1_epi32(1));
  const __m256i rounded =
      _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(is_odd, _mm256_set1_epi32(0x7fff))), 16);
  const __m256i quiet = _mm256_or_si256(top, _mm256_set1_epi32(0x0040));
  const __m256i is_nan = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(kFloat32Infinity));
  return _mm256_blendv_epi8(rounded, quiet, is_nan);
}

// Narrows 16 values at `in` to `out`; `back` receives them widened again.
template <DType kLow>
AMP_AVX2 inline void NarrowSixteenAvx2(const float* in, uint16_t* out, __m256 back[2]) {
  const __m256 first = _mm256_loadu_ps(in);
  const __m256 second = _mm256_loadu_ps(in + 8);
  if constexpr (kLow == DType::kFloat16) {
    const __m128i low_first = _mm256_cvtps_ph(first, kNearestEven);
    const __m128i low_second = _mm256_cvtps_ph(second, kNearestEven);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), low_first);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 8), low_second);
    back[0] = _mm256_cvtph_ps(low_first);
    back[1] = _mm256_cvtph_ps(low_second);
  } else {
    const __m256i low_first = RoundToBfloat16Avx2(_mm256_castps_si256(first));
    const __m256i low_second = RoundToBfloat16Avx2(_mm256_castps_si256(second));
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(low_first, low_second), 0xd8);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), packed);
    back[0] = _mm256_castsi256_ps(_mm256_slli_epi32(low_first, 16));
    back[1] = _mm256_castsi256_ps(_mm256_slli_epi32(low_second, 16));
  }
}

template <DType kLow>
AMP_AVX2 void NarrowAvx2(const float* in, size_t count, uint16_t* out) {
  __m256 unused[2];
  for (size_t i = 0; i < count; i += kConvertLanes) NarrowSixteenAvx2<kLow>(in + i, out + i, unused);
}

AMP_AVX2 inline int64_t SumAvx2(__m256i counts) {
  alignas(32) int32_t lanes[8];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), counts);
  int64_t sum = 0;
  for (const int32_t lane : lanes) sum += lane;
  return sum;
}

AMP_AVX2 inline void AddSquareAvx2(__m128 value, __m256d& sum) {
  const __m256d wide = _mm256_cvtps_pd(value);
  sum = _mm256_fmadd_pd(wide, wide, sum);
}

template <DType kLow>
AMP_AVX2 void NarrowWithSumsAvx2(const float* in, size_t count, uint16_t* out, BlockSums& sums) {
  constexpr NarrowingThresholds kThresholds = ThresholdsOf(kLow);
  __m256i non_zero = _mm256_setzero_si256();
  __m256i above_last_zero = _mm256_setzero_si256();
  __m256i from_first_normal = _mm256_setzero_si256();
  __m256i up_to_largest = _mm256_setzero_si256();  // magnitudes below first_infinite
  __m256i finite = _mm256_setzero_si256();
  __m256i largest = _mm256_setzero_si256();
  __m256d norm[4];
  __m256d error[4];
  for (int lane = 0; lane < 4; ++lane) {
    norm[lane] = _mm256_loadu_pd(sums.squared_norm + 4 * lane);
    error[lane] = _mm256_loadu_pd(sums.squared_error + 4 * lane);
  }
  for (size_t i = 0; i < count; i += kConvertLanes) {
    __m256 back[2];
    NarrowSixteenAvx2<kLow>(in + i, out + i, back);
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const __m256 value = _mm256_loadu_ps(in + i + 8 * half);
      const __m256i magnitude = _mm256_and_si256(_mm256_castps_si256(value), _mm256_set1_epi32(0x7fffffff));
      const __m256i is_finite = _mm256_cmpgt_epi32(_mm256_set1_epi32(kFloat32Infinity), magnitude);
      const __m256i is_in_range = _mm256_cmpgt_epi32(_mm256_set1_epi32(kThresholds.first_infinite), magnitude);
      finite = _mm256_sub_epi32(finite, is_finite);
      up_to_largest = _mm256_sub_epi32(up_to_largest, is_in_range);
      non_zero = _mm256_sub_epi32(non_zero, _mm256_cmpgt_epi32(magnitude, _mm256_setzero_si256()));
      above_last_zero =
          _mm256_sub_epi32(above_last_zero, _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(kThresholds.last_zero)));
      from_first_normal = _mm256_sub_epi32(
          from_first_normal, _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(kThresholds.first_normal - 1)));
      largest = _mm256_max_epi32(largest, _mm256_and_si256(magnitude, is_finite));
      const __m256 mask = _mm256_castsi256_ps(is_in_range);
      const __m256 kept = _mm256_and_ps(value, mask);
      const __m256 lost = _mm256_and_ps(_mm256_sub_ps(value, back[half]), mask);
      AddSquareAvx2(_mm256_castps256_ps128(kept), norm[2 * half]);
      AddSquareAvx2(_mm256_extractf128_ps(kept, 1), norm[2 * half + 1]);
      AddSquareAvx2(_mm256_castps256_ps128(lost), error[2 * half]);
      AddSquareAvx2(_mm256_extractf128_ps(lost, 1), error[2 * half + 1]);
    }
  }
  const auto total = static_cast<int64_t>(count);
  sums.non_zero += SumAvx2(non_zero);
  sums.above_last_zero += SumAvx2(above_last_zero);
  sums.from_first_normal += SumAvx2(from_first_normal);
  sums.from_first_infinite += total - SumAvx2(up_to_largest);
  sums.not_finite += total - SumAvx2(finite);
  alignas(32) int32_t magnitudes[8];
  _mm256_store_si256(reinterpret_cast<__m256i*>(magnitudes), largest);
  for (const int32_t magnitude : magnitudes) sums.largest = magnitude > sums.largest ? magnitude : sums.largest;
  for (int lane = 0; lane < 4; ++lane) {
    _mm256_storeu_pd(sums.squared_norm + 4 * lane, norm[lane]);
    _mm256_storeu_pd(sums.squared_error + 4 * lane, error[lane]);
  }
}

template <DType kLow>
AMP_AVX2 void WidenAvx2(const uint16_t* in, size_t count, float* out) {
  for (size_t i = 0; i < count; i += 8) {
    const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i));
    if constexpr (kLow == DType::kFloat16) {
      _mm256_storeu_ps(out + i, _mm256_cvtph_ps(low));
    } else {
      const __m256i bits = _mm256_slli_epi32(_mm256_cvtepu16_epi32(low), 16);
      _mm256_storeu_ps(out + i, _mm256_castsi256_ps(bits));
    }
  }
}

// ---- AVX-512: 16 values at a time ---------------------------------------------------------------------------------

// Sixteen bfloat16 values, each in the low half of 32 bits.
AMP_AVX512 inline __m512i RoundToBfloat16Avx512(__m512i bits) {
  const __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff));
  const __m512i top = _mm512_srli_epi32(bits, 16);
  const __m512i is_odd = _mm512_and_si512(top, _mm512_set1_epi32(1));
  const __m512i rounded =
      _mm512_srli_epi32(_mm512_add_epi32(bits, _mm512_add_epi32(is_odd, _mm512_set1_epi32(0x7fff))), 16);
  const __mmask16 is_nan = _mm512_cmpgt_epi32_mask(magnitude, _mm512_set1_epi32(kFloat32Infinity));
  return _mm512_mask_or_epi32(rounded, is_nan, top, _mm512_set1_epi32(0x0040));
}

// Narrows `value` to 16 elements at `out`; returns them widened again.
template <DType kLow>
AMP_AVX512 inline __m512 NarrowSixteenAvx512(__m512 value, uint16_t* out) {
  if constexpr (kLow == DType::kFloat16) {
    const __m256i low = _mm512_cvtps_ph(value, kNearestEven);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), low);
    return _mm512_cvtph_ps(low);
  } else {
    const __m512i low = RoundToBfloat16Avx512(_mm512_castps_si512(value));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_cvtepi32_epi16(low));
    return _mm512_castsi512_ps(_mm512_slli_epi32(low, 16));
  }
}

template <DType kLow>
AMP_AVX512 void NarrowAvx512(const float* in, size_t count, uint16_t* out) {
  for (size_t i = 0; i < count; i += kConvertLanes) NarrowSixteenAvx512<kLow>(_mm512_loadu_ps(in + i), out + i);
}

// counts + 1 in the lanes of `where`.
AMP_AVX512 inline __m512i CountAvx512(__m512i counts, __mmask16 where) {
  return _mm512_mask_add_epi32(counts, where, counts, _mm512_set1_epi32(1));
}

AMP_AVX512 inline void AddSquaresAvx512(__m512 value, __m512d sums[2]) {
  const __m512d first = _mm512_cvtps_pd(_mm512_castps512_ps256(value));
  const __m512d second = _mm512_cvtps_pd(_mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(value), 1)));
  sums[0] = _mm512_fmadd_pd(first, first, sums[0]);
  sums[1] = _mm512_fmadd_pd(second, second, sums[1]);
}

template <DType kLow>
AMP_AVX512 void NarrowWithSumsAvx512(const float* in, size_t count, uint16_t* out, BlockSums& sums) {
  constexpr NarrowingThresholds kThresholds = ThresholdsOf(kLow);
  __m512i non_zero = _mm512_setzero_si512();
  __m512i above_last_zero = _mm512_setzero_si512();
  __m512i from_first_normal = _mm512_setzero_si512();
  __m512i up_to_largest = _mm512_setzero_si512();  // magnitudes below first_infinite
  __m512i finite = _mm512_setzero_si512();
  __m512i largest = _mm512_setzero_si512();
  __m512d norm[2] = {_mm512_loadu_pd(sums.squared_norm), _mm512_loadu_pd(sums.squared_norm + 8)};
  __m512d error[2] = {_mm512_loadu_pd(sums.squared_error), _mm512_loadu_pd(sums.squared_error + 8)};
  for (size_t i = 0; i < count; i += kConvertLanes) {
    const __m512 value = _mm512_loadu_ps(in + i);
    const __m512 back = NarrowSixteenAvx512<kLow>(value, out + i);
    const __m512i magnitude = _mm512_and_si512(_mm512_castps_si512(value), _mm512_set1_epi32(0x7fffffff));
    const __mmask16 is_finite = _mm512_cmplt_epi32_mask(magnitude, _mm512_set1_epi32(kFloat32Infinity));
    const __mmask16 is_in_range = _mm512_cmplt_epi32_mask(magnitude, _mm512_set1_epi32(kThresholds.first_infinite));
    finite = CountAvx512(finite, is_finite);
    up_to_largest = CountAvx512(up_to_largest, is_in_range);
    non_zero = CountAvx512(non_zero, _mm512_test_epi32_mask(magnitude, magnitude));
    above_last_zero =
        CountAvx512(above_last_zero, _mm512_cmpgt_epi32_mask(magnitude, _mm512_set1_epi32(kThresholds.last_zero)));
    from_first_normal =
        CountAvx512(from_first_normal, _mm512_cmpge_epi32_mask(magnitude, _mm512_set1_epi32(kThresholds.first_normal)));
    largest = _mm512_mask_max_epi32(largest, is_finite, largest, magnitude);
    AddSquaresAvx512(_mm512_maskz_mov_ps(is_in_range, value), norm);
    AddSquaresAvx512(_mm512_maskz_sub_ps(is_in_range, value, back), error);
  }
  const auto total = static_cast<int64_t>(count);
  sums.non_zero += _mm512_reduce_add_epi32(non_zero);
  sums.above_last_zero += _mm512_reduce_add_epi32(above_last_zero);
  sums.from_first_normal += _mm512_reduce_add_epi32(from_first_normal);
  sums.from_first_infinite += total - _mm512_reduce_add_epi32(up_to_largest);
  sums.not_finite += total - _mm512_reduce_add_epi32(finite);
  const int32_t block_largest = _mm512_reduce_max_epi32(largest);
  sums.largest = block_largest > sums.largest ? block_largest : sums.largest;
  for (int half = 0; half < 2; ++half) {
    _mm512_storeu_pd(sums.squared_norm + 8 * half, norm[half]);
    _mm512_storeu_pd(sums.squared_error + 8 * half, error[half]);
  }
}

template <DType kLow>
AMP_AVX512 void WidenAvx512(const uint16_t* in, size_t count, float* out) {
  for (size_t i = 0; i < count; i += kConvertLanes) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i));
    if constexpr (kLow == DType::kFloat16) {
      _mm512_storeu_ps(out + i, _mm512_cvtph_ps(low));
    } else {
      const __m512i bits = _mm512_slli_epi32(_mm512_cvtepu16_epi32(low), 16);
      _mm512_storeu_ps(out + i, _mm512_castsi512_ps(bits));
    }
  }
}

template <DType kLow>
constexpr ConvertKernels kAvx2Kernels = {NarrowAvx2<kLow>, NarrowWithSumsAvx2<kLow>, WidenAvx2<kLow>};
template <DType kLow>
constexpr ConvertKernels kAvx512Kernels = {NarrowAvx512<kLow>, NarrowWithSumsAvx512<kLow>, WidenAvx512<kLow>};

}  // namespace

const ConvertKernels& Avx2Kernels(DType low) {
  return low == DType::kFloat16 ? kAvx2Kernels<DType::kFloat16> : kAvx2Kernels<DType::kBfloat16>;
}

const ConvertKernels& Avx512Kernels(DType low) {
  return low == DType::kFloat16 ? kAvx512Kernels<DType::kFloat16> : kAvx512Kernels<DType::kBfloat16>;
}

}  // namespace amp

#endif  // defined(__x86_64__)
