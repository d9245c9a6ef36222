#include "runtime/values/ulp_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "runtime/values/compare_values.h"

namespace amp {
namespace {

// Numbers that follow each other get places that follow each other; both zeros get one.
template <typename T>
int64_t PlaceOf(T number) {
  using Bits = std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
  Bits bits = 0;
  std::memcpy(&bits, &number, sizeof bits);
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  const auto magnitude = static_cast<int64_t>(bits & static_cast<Bits>(~kSign));
  return (bits & kSign) != 0 ? -magnitude : magnitude;
}

// 0 for 0, 1 for 1, 2 for 2 and 3, 3 for 4 to 7 ...
size_t RowOf(uint64_t distance) {
  return std::min(static_cast<size_t>(std::bit_width(distance)), UlpHistogram::kRows - 1);
}

template <typename T>
size_t RowOf(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : UlpHistogram::kRows - 1;
  const T x = FromDouble<T>(a), y = FromDouble<T>(b);
  if (std::isinf(ToDouble(x)) != std::isinf(ToDouble(y))) return UlpHistogram::kRows - 1;
  const int64_t p = PlaceOf(x), q = PlaceOf(y);
  return RowOf(p > q ? static_cast<uint64_t>(p) - static_cast<uint64_t>(q)
                     : static_cast<uint64_t>(q) - static_cast<uint64_t>(p));
}

// Returns the type with fewer bits of precision: of two 16-bit types that is bfloat16.
DType Coarser(DType a, DType b) {
  if (a == DType::kBfloat16 || b == DType::kBfloat16) return DType::kBfloat16;
  return ElementBytes(a) <= ElementBytes(b) ? a : b;
}

bool IsComparable(DType type) {
  return VisitFloats(type, [](auto) {});
}

}  // namespace

std::string UlpHistogram::RowText(size_t row) {
  if (row <= 1) return absl::StrCat(row);
  const int64_t least = int64_t{1} << (row - 1);
  return row == kRows - 1 ? absl::StrCat(least, " or more") : absl::StrCat(least, "-", 2 * least - 1);
}

std::string UlpHistogram::Text() const {
  std::string text = absl::StrCat("ulps of ", DTypeName(unit));
  const char* separator = ": ";
  for (size_t row = 0; row < kRows; ++row) {
    if (counts[row] == 0) continue;
    absl::StrAppend(&text, separator, RowText(row), ": ", counts[row]);
    separator = ", ";
  }
  return text;
}

UlpHistogram CountUlps(const Datum& expected, const Datum& found, DType computed_in) {
  UlpHistogram histogram;
  const Tensor* a = expected.tensor();
  const Tensor* b = found.tensor();
  if (a == nullptr || b == nullptr || a->dims() != b->dims()) return histogram;
  if (!IsComparable(a->dtype()) || !IsComparable(b->dtype())) return histogram;
  histogram.unit = Coarser(a->dtype(), b->dtype());
  if (IsComparable(computed_in)) histogram.unit = Coarser(histogram.unit, computed_in);
  const std::vector<double> x = AsDoubles(*a), y = AsDoubles(*b);
  VisitFloats(histogram.unit, [&]<typename T>(TypeTag<T>) {
    for (size_t i = 0; i < x.size(); ++i) ++histogram.counts[RowOf<T>(x[i], y[i])];
  });
  return histogram;
}

}  // namespace amp
