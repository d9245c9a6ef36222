#include "ir/base/exponent_counts.h"

#include <algorithm>
#include <array>
#include <bit>

namespace amp {
namespace {

constexpr int kBias = 127;
constexpr int kMantissaBits = 23;
constexpr uint32_t kLargestExponent = 0xff;  // of infinities and NaN

}  // namespace

void ExponentCounts::Add(absl::Span<const float> elements) {
  if (elements.empty()) return;
  by_biased_exponent_.resize(kExponents, 0);
  // Neighbours mostly have one exponent: counting them in turns lets the processor count several at once.
  constexpr size_t kTurns = 8;
  std::array<std::array<int64_t, kExponents>, kTurns> counts = {};
  const auto exponent_of = [&](size_t i) {
    return std::bit_cast<uint32_t>(elements[i]) >> kMantissaBits & kLargestExponent;
  };
  size_t i = 0;
  for (; i + kTurns <= elements.size(); i += kTurns) {
    for (size_t turn = 0; turn < kTurns; ++turn) ++counts[turn][exponent_of(i + turn)];
  }
  for (; i < elements.size(); ++i) ++counts[0][exponent_of(i)];
  const bool may_have_zeros = std::any_of(counts.begin(), counts.end(), [](const auto& turn) { return turn[0] > 0; });
  if (may_have_zeros) zeros_ += std::count(elements.begin(), elements.end(), 0.0F);
  for (const auto& turn : counts) {
    for (size_t bin = 0; bin < kExponents; ++bin) by_biased_exponent_[bin] += turn[bin];
  }
}

ExponentHistogram ExponentCounts::Histogram() const {
  ExponentHistogram histogram;
  if (IsEmpty()) return histogram;
  std::vector<int64_t> counts = by_biased_exponent_;
  counts.front() -= zeros_;
  histogram.zeros = zeros_;
  histogram.not_finite = counts[kLargestExponent];
  counts[kLargestExponent] = 0;
  int first = 0, last = static_cast<int>(kLargestExponent) - 1;
  while (first <= last && counts[static_cast<size_t>(first)] == 0) ++first;
  while (last >= first && counts[static_cast<size_t>(last)] == 0) --last;
  if (first > last) return histogram;
  histogram.first = first - kBias;
  histogram.width = (last - first) / ExponentHistogram::kMaxBins + 1;
  const int last_bin = (last - first) / histogram.width;
  histogram.bins.resize(static_cast<size_t>(last_bin) + 1);
  for (int i = first; i <= last; ++i) {
    const int bin = (i - first) / histogram.width;
    histogram.bins[static_cast<size_t>(bin)] += counts[static_cast<size_t>(i)];
  }
  return histogram;
}

}  // namespace amp
