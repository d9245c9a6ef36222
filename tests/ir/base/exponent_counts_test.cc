// Counts of elements between powers of two.
#include "ir/base/exponent_counts.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "tests/catch2.h"

namespace amp {
namespace {

using Limits = std::numeric_limits<float>;

ExponentCounts CountsOf(const std::vector<float>& elements) {
  ExponentCounts counts;
  counts.Add(elements);
  return counts;
}

TEST_CASE("elements are counted by the power of two below them") {
  const ExponentHistogram histogram = CountsOf({0.75F, -1, 1.5F, 2, 0, -0.0F, 16}).Histogram();
  CHECK(histogram.first == -1);
  CHECK(histogram.width == 1);
  CHECK(histogram.bins == std::vector<int64_t>{1, 2, 1, 0, 0, 1});
  CHECK(histogram.zeros == 2);
  CHECK(histogram.not_finite == 0);
}

TEST_CASE("what is not finite is counted apart") {
  const ExponentCounts counts = CountsOf({Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), 1});
  CHECK(counts.Histogram().not_finite == 3);
  CHECK(counts.Histogram().bins == std::vector<int64_t>{1});
}

TEST_CASE("nothing but zeros has no bin") {
  CHECK(CountsOf({0, 0, -0.0F}).Histogram().bins.empty());
  CHECK(CountsOf({}).Histogram().bins.empty());
}

TEST_CASE("the whole range of float32 fits into 64 bins") {
  std::vector<float> elements;
  for (int exponent = -149; exponent <= 127; ++exponent) elements.push_back(std::ldexp(1.0F, exponent));
  const ExponentHistogram histogram = CountsOf(elements).Histogram();
  CHECK(histogram.first == -127);  // where subnormal numbers are counted
  CHECK(histogram.width == 4);
  CHECK(histogram.bins.size() == 64);
  CHECK(std::accumulate(histogram.bins.begin(), histogram.bins.end(), int64_t{0}) == 277);
  CHECK(histogram.bins.front() == 23 + 3);
  CHECK(histogram.bins.back() == 3);
}

TEST_CASE("stretches add up") {
  ExponentCounts counts = CountsOf({1, 2});
  counts.Add(std::vector<float>{2, 0});
  CHECK(counts.Histogram().bins == std::vector<int64_t>{1, 2});
  CHECK(counts.Histogram().zeros == 1);
}

}  // namespace
}  // namespace amp
