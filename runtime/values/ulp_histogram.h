// Differences of two models' outputs in units in the last place (ulp), which mean the same for large and small numbers.
#ifndef AMP_RUNTIME_VALUES_ULP_HISTOGRAM_H_
#define AMP_RUNTIME_VALUES_ULP_HISTOGRAM_H_

#include <array>
#include <cstdint>
#include <string>

#include "ir/base/dtype.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// counts[0]: elements that are equal; counts[k]: those 2^(k-1) to 2^k - 1 units in the last place apart, the last row
// those that are further. Elements that are not finite in both count as equal or as furthest.
struct UlpHistogram {
  static constexpr size_t kRows = 13;
  DType unit = DType::kUndefined;  // the narrowest type, to which both are rounded
  std::array<int64_t, kRows> counts{};

  // "ulps of float16: 0: 250, 1: 5, 2-3: 1"; rows without elements are left out.
  std::string Text() const;
  // "4-7", of the counts[3].
  static std::string RowText(size_t row);
};

// Counts the differences of two float tensors of equal shape (float16, bfloat16, float32, float64); for all others the
// unit is kUndefined. `computed_in`: a narrower type that the values were computed in, if there is one.
UlpHistogram CountUlps(const Datum& expected, const Datum& found, DType computed_in = DType::kUndefined);

}  // namespace amp

#endif  // AMP_RUNTIME_VALUES_ULP_HISTOGRAM_H_
