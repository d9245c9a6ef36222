// How many elements lie between two powers of two: what reports draw beside the range of a 16-bit type.
//
//   {0.75, 1, 1.5, 2, 0}     exponent -1: 1, exponent 0: 2, exponent 1: 1; one zero
//
// Tested by tests/ir/base/exponent_counts_test.cc.
#ifndef AMP_IR_BASE_EXPONENT_COUNTS_H_
#define AMP_IR_BASE_EXPONENT_COUNTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace amp {

// At most kMaxBins counts: bin i holds the exponents from first + i * width on, `width` of them.
struct ExponentHistogram {
  static constexpr int kMaxBins = 64;
  int first = 0;
  int width = 1;
  std::vector<int64_t> bins;  // neither the first nor the last is 0; empty where no element is finite and not zero
  int64_t zeros = 0, not_finite = 0;
};

class ExponentCounts {
 public:
  void Add(absl::Span<const float> elements);
  bool IsEmpty() const { return by_biased_exponent_.empty(); }
  ExponentHistogram Histogram() const;
  bool operator==(const ExponentCounts&) const = default;

 private:
  static constexpr size_t kExponents = 256;
  std::vector<int64_t> by_biased_exponent_;  // 0: zeros and subnormal numbers; empty before elements are added
  int64_t zeros_ = 0;
};

}  // namespace amp

#endif  // AMP_IR_BASE_EXPONENT_COUNTS_H_
