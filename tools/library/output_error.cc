#include "tools/library/output_error.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "ir/base/dtype.h"
#include "runtime/values/compare_values.h"

namespace amp {
namespace {

using Metric = RewriteOptions::Metric;
using Row = absl::Span<const double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Shares below this are taken for it: the logarithm of zero is not finite.
constexpr double kLeastShare = 1e-30;

bool IsDistribution(Row row) {
  constexpr double kFar = 0.02;  // bfloat16 has three digits
  double sum = 0;
  for (const double share : row) {
    if (share < 0) return false;
    sum += share;
  }
  return std::abs(sum - 1) < kFar;
}

// The row by its sum, where it is one of probabilities; else its softmax. Empty where that is not finite.
std::vector<double> Shares(Row row, bool is_distribution) {
  std::vector<double> shares(row.begin(), row.end());
  if (!is_distribution) {
    const double largest = *std::max_element(row.begin(), row.end());
    for (double& share : shares) share = std::exp(share - largest);
  }
  double sum = 0;
  for (const double share : shares) sum += share;
  if (!(sum > 0) || !std::isfinite(sum)) return {};
  for (double& share : shares) share /= sum;
  return shares;
}

double Divergence(Row expected, Row found) {
  const bool is_distribution = IsDistribution(expected);
  const std::vector<double> p = Shares(expected, is_distribution), q = Shares(found, is_distribution);
  if (p.empty()) return 0;  // of NaN or infinite logits, which both rows have then
  if (q.empty()) return kInfinity;
  double divergence = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i] > 0) divergence += p[i] * std::log(p[i] / std::max(q[i], kLeastShare));
  }
  return divergence > 0 ? divergence : 0;  // roundings may leave it below
}

double HasOtherLargest(Row expected, Row found) {
  const auto at = [](Row row) { return std::max_element(row.begin(), row.end()) - row.begin(); };
  return at(expected) == at(found) ? 0 : 1;
}

// The mean over rows along the last dimension.
std::optional<double> MeanOverRows(const Datum& expected, const Datum& found,
                                   const std::function<double(Row, Row)>& error) {
  const Tensor* const a = expected.tensor();
  const Tensor* const b = found.tensor();
  constexpr int64_t kFewest = 2;
  if (a == nullptr || b == nullptr || a->dims().empty() || a->dims().back() < kFewest) return std::nullopt;
  const std::vector<double> a_values = AsDoubles(*a), b_values = AsDoubles(*b);
  if (a_values.empty()) return std::nullopt;
  const auto length = static_cast<size_t>(a->dims().back());
  double sum = 0;
  for (size_t at = 0; at < a_values.size(); at += length) {
    sum += error(Row(a_values).subspan(at, length), Row(b_values).subspan(at, length));
  }
  return sum * static_cast<double>(length) / static_cast<double>(a_values.size());
}

bool IsZero(const Datum& datum) {
  if (datum.tensor() == nullptr) return false;
  const std::vector<double> values = AsDoubles(*datum.tensor());
  return std::all_of(values.begin(), values.end(), [](double value) { return value == 0; });
}

// 1 where one of them alone is zero: the cosine of that is no number.
double CosineError(const Datum& expected, const Datum& found, double cosine) {
  return IsZero(expected) == IsZero(found) ? 1 - cosine : 1;
}

}  // namespace

std::optional<double> OutputError(Metric metric, const Datum& expected, const Datum& found) {
  const ValueDifference difference = CompareValues(expected, found);
  if (!difference.misfit.empty() || difference.new_non_finite > 0) return kInfinity;
  if (difference.compared == 0) return std::nullopt;
  const Tensor* const tensor = expected.tensor();
  const bool is_float = tensor == nullptr || LargestFinite(tensor->dtype()) > 0;
  const double share_unequal =
      difference.elements > 0 ? static_cast<double>(difference.unequal) / static_cast<double>(difference.elements) : 0;
  if (!is_float) return share_unequal;
  switch (metric) {
    case Metric::kRelativeL2:
    case Metric::kSqnr:
      return std::max(difference.relative_error, share_unequal);
    case Metric::kMaxAbs:
      return std::max(difference.largest_error, share_unequal);
    case Metric::kCosine:
      return std::max(CosineError(expected, found, difference.cosine), share_unequal);
    case Metric::kKl:
      return MeanOverRows(expected, found, Divergence);
    case Metric::kTop1:
      return MeanOverRows(expected, found, HasOtherLargest);
  }
  return std::nullopt;
}

ValueDifference VerifiedDifference(const Datum& expected, const Datum& found) {
  constexpr double kSmallestFloat16 = 0x1p-24;
  ValueDifference difference = CompareValues(expected, found);
  const bool has_vanished = IsZero(found) && !IsZero(expected);
  if (difference.largest_error < kSmallestFloat16 && !has_vanished) difference.relative_error = 0;
  return difference;
}

double VerifiedError(const ValueDifference& difference) {
  return !difference.misfit.empty() || difference.new_non_finite > 0 ? kInfinity : difference.relative_error;
}

}  // namespace amp
