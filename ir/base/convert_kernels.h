// The inner loops of ir/base/convert.h, one set per instruction set. Only convert*.cc and its tests include this.
//
// All sets give the same bits, sums included: element i of a block belongs to lane i mod 16, each lane adds its
// elements in order, and squares of float32 values are exact in float64, so that a fused multiply-add changes nothing.
#ifndef AMP_IR_BASE_CONVERT_KERNELS_H_
#define AMP_IR_BASE_CONVERT_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "ir/base/dtype.h"

namespace amp {

inline constexpr size_t kConvertLanes = 16;
// Elements per block of sums: 16 KiB of float32 stay in the first-level cache.
inline constexpr size_t kConvertBlock = 4096;

// Magnitudes of float32 as integers (sign bit cleared): they order like the numbers, so that what a value becomes is
// told by comparing it with these three and kFloat32Infinity.
struct NarrowingThresholds {
  int32_t last_zero;       // largest that becomes zero
  int32_t first_normal;    // smallest that becomes a normal number
  int32_t first_infinite;  // smallest that becomes infinite
};
inline constexpr int32_t kFloat32Infinity = 0x7f800000;

constexpr NarrowingThresholds ThresholdsOf(DType low) {
  if (low == DType::kFloat16)
    return {.last_zero = 0x33000000, .first_normal = 0x387fe000, .first_infinite = 0x477ff000};
  return {.last_zero = 0x00008000, .first_normal = 0x007f8000, .first_infinite = 0x7f7f8000};
}

// The sums of one block for NarrowingStats, before the lanes are added up.
struct BlockSums {
  // How many magnitudes are ...
  int64_t non_zero = 0;             // > 0
  int64_t above_last_zero = 0;      // > last_zero
  int64_t from_first_normal = 0;    // >= first_normal
  int64_t from_first_infinite = 0;  // >= first_infinite
  int64_t not_finite = 0;           // >= kFloat32Infinity
  int32_t largest = 0;              // largest finite magnitude
  double squared_norm[kConvertLanes] = {};
  double squared_error[kConvertLanes] = {};
};

// REQUIRES of all: `count` is a multiple of kConvertLanes; no overlap; MXCSR at its default.
struct ConvertKernels {
  void (*narrow)(const float* in, size_t count, uint16_t* out);
  void (*narrow_with_sums)(const float* in, size_t count, uint16_t* out, BlockSums& sums);
  void (*widen)(const uint16_t* in, size_t count, float* out);
};

#if defined(__x86_64__)
// REQUIRES: the processor has AVX2, FMA and F16C.
const ConvertKernels& Avx2Kernels(DType low);
// REQUIRES: the processor has AVX-512 F.
const ConvertKernels& Avx512Kernels(DType low);
#endif

}  // namespace amp

#endif  // AMP_IR_BASE_CONVERT_KERNELS_H_
