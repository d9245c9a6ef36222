// Random numbers: seeds, distributions, ranges; Dropout of all versions.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/strings/match.h"
#include "tests/catch2.h"
#include "tests/runtime/run_text.h"

TEST_CASE("a seed fixes what is drawn; without one the run's does") {
  const NodeText seeded = {.node = "y = RandomNormal<shape = [3], seed = 7.0>()", .output = "float[3]", .seed = 1};
  NodeText other_run = seeded;
  other_run.seed = 2;
  CHECK(Computed(seeded) == Computed(other_run));
  NodeText unseeded = {.node = "y = RandomNormal<shape = [3]>()", .output = "float[3]", .seed = 1};
  NodeText other_seed = unseeded;
  other_seed.seed = 2;
  CHECK(Computed(unseeded) == Computed(unseeded));
  CHECK(Computed(unseeded) != Computed(other_seed));
}

TEST_CASE("RandomNormal and RandomUniform have the moments and the range that they should") {
  const absl::StatusOr<amp::Tensor> normal =
      RunText({.node = "y = RandomNormal<shape = [100000], mean = 3.0, scale = 2.0, dtype = 11>()",
               .output = "double[100000]"});
  REQUIRE(normal.ok());
  double sum = 0, squares = 0;
  for (const double x : normal->elements<double>()) sum += x, squares += (x - 3) * (x - 3);
  CHECK(std::fabs(sum / 100000 - 3) < 0.03);
  CHECK(std::fabs(squares / 100000 - 4) < 0.1);
  const absl::StatusOr<amp::Tensor> uniform =
      RunText({.node = "y = RandomUniform<shape = [100000], dtype = 10>()", .output = "float16[100000]"});
  REQUIRE(uniform.ok());
  double largest = 0, total = 0;
  for (const amp::Float16 x : uniform->elements<amp::Float16>()) {
    largest = std::max(largest, amp::ToDouble(x));
    total += amp::ToDouble(x);
  }
  CHECK(largest < 1);
  CHECK(std::fabs(total / 100000 - 0.5) < 0.01);
}

TEST_CASE("shapes of random numbers that are too large or negative are errors") {
  CHECK(absl::StrContains(
      Computed({.node = "y = RandomNormal<shape = [4294967296, 4294967296]>()", .output = "float[1]"}),
      "expected at most"));
  CHECK(absl::StrContains(Computed({.node = "y = RandomUniform<shape = [-1]>()", .output = "float[1]"}),
                          "expected dimensions of at least 0"));
}

TEST_CASE("Multinomial draws likely classes, never impossible ones") {
  const absl::StatusOr<amp::Tensor> y = RunText({.given = "float[1,3] p = {0, 1, 4}",
                                                 .node = "q = Log(p) y = Multinomial<sample_size = 10000>(q)",
                                                 .output = "int32[1,10000]"});
  REQUIRE(y.ok());
  const auto drawn = y->elements<int32_t>();
  CHECK(std::count(drawn.begin(), drawn.end(), 0) == 0);
  CHECK(std::abs(std::count(drawn.begin(), drawn.end(), 2) - 8000) < 200);
  CHECK(absl::StrContains(
      Computed({.given = "float[1,2] p = {0, 0}", .node = "q = Log(p) y = Multinomial(q)", .output = "int32[1,1]"}),
      "expected finite log-probabilities"));
}

TEST_CASE("Dropout in training keeps the mean, scales what it keeps, and says what that is") {
  const absl::StatusOr<amp::Tensor> y =
      RunText({.given = "float ratio = {0.25}, bool training = {1}, int64 n = {10000}, float zero = {0}",
               .node = "x = HannWindow(n) one = Pow(x, zero) y = Dropout(one, ratio, training)",
               .output = "float[10000]"});
  REQUIRE(y.ok());
  const auto elements = y->elements<float>();
  const auto zeros = std::count(elements.begin(), elements.end(), 0.0f);
  CHECK(std::abs(zeros - 2500) < 200);
  CHECK(std::count(elements.begin(), elements.end(), 1 / 0.75f) == 10000 - zeros);
}

TEST_CASE("Dropout by version: opset 6 drops unless it is a test, 7 never does, a ratio of 1 is an error") {
  const auto dropout = [](int opset, const std::string& node) {
    return Computed({.opset = opset,
                     .given = "float[2] x = {1, 2}, float one = {1}, bool t = {1}",
                     .node = node,
                     .output = "float[2]"});
  };
  CHECK(dropout(6, "y = Dropout<is_test = 1>(x)") == "float32[2]: 1 2");
  CHECK(dropout(7, "y = Dropout<ratio = 0.9>(x)") == "float32[2]: 1 2");
  CHECK(dropout(7, "z, y = Dropout(x)") == "float32[2]: 1 1");
  CHECK(dropout(13, "y = Dropout(x, one)") == "float32[2]: 1 2");
  CHECK(absl::StrContains(dropout(13, "y = Dropout(x, one, t)"), "expected a ratio in [0, 1), found 1"));
  CHECK(absl::StrContains(dropout(6, "y = Dropout<ratio = 1.5>(x)"), "expected a ratio in [0, 1), found 1.5"));
}
