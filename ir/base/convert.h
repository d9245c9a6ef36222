// float32 <-> float16 / bfloat16, in bulk, with the range statistics that guards and reports need.
//
// Round to nearest, ties to even. NaN stays NaN (payload may shrink, sign stays), -0, subnormals and infinities are
// right. Three code paths agree bit for bit on all 2^32 inputs; the best one that the processor has is chosen at run
// time.
#ifndef AMP_IR_BASE_CONVERT_H_
#define AMP_IR_BASE_CONVERT_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/base/dtype.h"

namespace amp {

// Statistics of narrowing a stretch of float32 values. Add() merges two stretches.
struct NarrowingStats {
  int64_t count = 0;
  int64_t overflow = 0;      // finite in float32, infinite in the low type
  int64_t underflow = 0;     // non-zero in float32, zero in the low type
  int64_t subnormal = 0;     // non-zero result below the low type's smallest normal magnitude
  float largest = 0;         // largest finite magnitude of the input
  double squared_norm = 0;   // over the finite inputs with finite results
  double squared_error = 0;  // sum of (x - narrowed(x))^2 over the same

  void Add(const NarrowingStats& other);
  // Relative L2 rounding error; 0 when the norm is 0.
  double RelativeError() const;
};

enum class ConvertPath { kScalar, kAvx2, kAvx512 };
absl::string_view ConvertPathName(ConvertPath path);
// The paths this processor can run, slowest first; never empty.
std::vector<ConvertPath> AvailableConvertPaths();

// REQUIRES: `low` is kFloat16 or kBfloat16; out.size() == in.size(); no overlap.
void Narrow(absl::Span<const float> in, DType low, absl::Span<uint16_t> out);
void NarrowWithStats(absl::Span<const float> in, DType low, absl::Span<uint16_t> out, NarrowingStats& stats);
// Statistics alone: what NarrowWithStats would count.
void SurveyNarrowing(absl::Span<const float> in, DType low, NarrowingStats& stats);
// float64 directly, not through float32 (which would round twice).
void NarrowFloat64(absl::Span<const double> in, DType low, absl::Span<uint16_t> out);
void Widen(absl::Span<const uint16_t> in, DType low, absl::Span<float> out);

// Narrows on a given path, for tests and benchmarks. REQUIRES: AvailableConvertPaths() has it.
void NarrowOn(ConvertPath path, absl::Span<const float> in, DType low, absl::Span<uint16_t> out);
void NarrowWithStatsOn(ConvertPath path, absl::Span<const float> in, DType low, absl::Span<uint16_t> out,
                       NarrowingStats& stats);
void WidenOn(ConvertPath path, absl::Span<const uint16_t> in, DType low, absl::Span<float> out);

uint16_t NarrowOne(float value, DType low);
float WidenOne(uint16_t bits, DType low);

}  // namespace amp

#endif  // AMP_IR_BASE_CONVERT_H_
