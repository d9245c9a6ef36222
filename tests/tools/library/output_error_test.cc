// The errors of outputs by which a search judges, on small rows whose errors are known.
#include "tools/library/output_error.h"

#include <cmath>
#include <limits>

#include "tests/catch2.h"

namespace amp {
namespace {

using Metric = RewriteOptions::Metric;
using Catch::Matchers::WithinRel;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Datum Rows(const std::vector<float>& values, int64_t length) {
  const auto rows = static_cast<int64_t>(values.size()) / length;
  return Tensor::Of<float>(DType::kFloat32, {rows, length}, values);
}

double ErrorBy(Metric metric, const Datum& expected, const Datum& found) {
  const std::optional<double> error = OutputError(metric, expected, found);
  REQUIRE(error.has_value());
  return *error;
}

TEST_CASE("each metric of two rows is what its formula says") {
  const Datum expected = Rows({1, 2, 2, 0, 3, 4}, 3), found = Rows({1, 2, 3, 0, 3, 4}, 3);
  CHECK_THAT(ErrorBy(Metric::kRelativeL2, expected, found), WithinRel(1 / std::sqrt(34), 1e-12));
  CHECK(ErrorBy(Metric::kMaxAbs, expected, found) == 1);
  CHECK_THAT(ErrorBy(Metric::kCosine, expected, found), WithinRel(1 - 36 / std::sqrt(34.0 * 39.0), 1e-9));
  CHECK(ErrorBy(Metric::kTop1, expected, found) == 0.5);  // of the first row the second of equals counts
}

TEST_CASE("a divergence is that of softmaxes, or of rows that are probabilities") {
  const double p = 0.75, q = 0.5;
  const double expected = p * std::log(p / q) + (1 - p) * std::log((1 - p) / (1 - q));
  CHECK_THAT(ErrorBy(Metric::kKl, Rows({0.75, 0.25}, 2), Rows({0.5, 0.5}, 2)), WithinRel(expected, 1e-6));
  const float logit = std::log(3.0F);
  CHECK_THAT(ErrorBy(Metric::kKl, Rows({7 + logit, 7}, 2), Rows({0, 0}, 2)), WithinRel(expected, 1e-5));
  // A share of zero that was none is no infinite divergence, and masked logits are none at all.
  CHECK(std::isfinite(ErrorBy(Metric::kKl, Rows({0.5, 0.5}, 2), Rows({1, 0}, 2))));
  CHECK(ErrorBy(Metric::kKl, Rows({1, -kInfinity}, 2), Rows({1, -kInfinity}, 2)) == 0);
}

TEST_CASE("an output that is zero everywhere is far from one that is not") {
  const Datum expected = Rows({0.5, 0.5, 0.25, 0.75}, 2), zero = Rows({0, 0, 0, 0}, 2);
  CHECK(std::isinf(ErrorBy(Metric::kKl, expected, zero)));
  CHECK(ErrorBy(Metric::kCosine, expected, zero) == 1);
  CHECK(ErrorBy(Metric::kCosine, zero, expected) == 1);
  CHECK(ErrorBy(Metric::kCosine, zero, zero) == 0);
}

TEST_CASE("what cannot be compared is infinite, or nothing") {
  for (const Metric metric : {Metric::kRelativeL2, Metric::kMaxAbs, Metric::kCosine, Metric::kKl, Metric::kTop1}) {
    INFO(static_cast<int>(metric));
    CHECK(std::isinf(ErrorBy(metric, Rows({1, 2}, 2), Rows({1, 2, 3, 4}, 2))));
    CHECK(std::isinf(ErrorBy(metric, Rows({1, 2}, 2), Rows({1, kInfinity}, 2))));
    const float nan = std::numeric_limits<float>::quiet_NaN();
    CHECK_FALSE(OutputError(metric, Rows({nan, nan}, 2), Rows({nan, nan}, 2)).has_value());
    CHECK(ErrorBy(metric, Rows({1, 2}, 2), Rows({1, 2}, 2)) < 1e-15);
  }
  CHECK_FALSE(OutputError(Metric::kKl, Rows({1, 2}, 1), Rows({1, 3}, 1)).has_value());
  CHECK_FALSE(OutputError(Metric::kTop1, Rows({1, 2}, 1), Rows({1, 3}, 1)).has_value());
  const Datum whole = Tensor::Of<int64_t>(DType::kInt64, {4}, {1, 2, 3, 4});
  const Datum other = Tensor::Of<int64_t>(DType::kInt64, {4}, {1, 2, 3, 5});
  CHECK(ErrorBy(Metric::kKl, whole, other) == 0.25);
}

}  // namespace
}  // namespace amp
