// How many elements of a constant lie between two powers of two: what reports draw beside the range of a 16-bit type.
//
//   {0.75, 1, 1.5, 2, 0}     exponent -1: 1, exponent 0: 2, exponent 1: 1; one zero
#ifndef AMP_IR_GRAPH_COUNT_EXPONENTS_H_
#define AMP_IR_GRAPH_COUNT_EXPONENTS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/graph/graph.h"

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
  ExponentHistogram Histogram() const;

 private:
  static constexpr size_t kExponents = 256;
  std::array<int64_t, kExponents> by_biased_exponent_ = {};  // 0: zeros and subnormal numbers
  int64_t zeros_ = 0;
};

// REQUIRES: model.IsConstant(value), float32. Reads it once. Errors: reading external data. Tested by
// tests/ir/graph/count_exponents_test.cc and, with models, by tests/passes/report/report_test.cc.
absl::StatusOr<ExponentCounts> CountExponents(const Model& model, ValueId value);

}  // namespace amp

#endif  // AMP_IR_GRAPH_COUNT_EXPONENTS_H_
