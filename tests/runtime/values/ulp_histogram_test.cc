#include "runtime/values/ulp_histogram.h"

#include <cmath>
#include <limits>
#include <vector>

#include "tests/catch2.h"

namespace amp {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Datum Floats(const std::vector<float>& elements) {
  return Datum(Tensor::Of<float>(DType::kFloat32, {static_cast<int64_t>(elements.size())}, elements));
}

template <typename T>
Datum Narrow(DType type, const std::vector<float>& elements) {
  std::vector<T> narrow;
  narrow.reserve(elements.size());
  for (const float element : elements) narrow.push_back(FromDouble<T>(static_cast<double>(element)));
  return Datum(Tensor::Of<T>(type, {static_cast<int64_t>(elements.size())}, narrow));
}

std::string Text(const std::vector<float>& expected, const std::vector<float>& found) {
  return CountUlps(Floats(expected), Floats(found)).Text();
}

TEST_CASE("neighbours are one apart, across zero and powers of two as well") {
  const float above = std::nextafter(1.0f, 2.0f), below = std::nextafter(1.0f, 0.0f);
  CHECK(Text({1, 1, 1}, {1, above, below}) == "ulps of float32: 0: 1, 1: 2");
  CHECK(Text({above}, {below}) == "ulps of float32: 2-3: 1");
  CHECK(Text({0.0f, 1e-45f}, {-0.0f, -1e-45f}) == "ulps of float32: 0: 1, 2-3: 1");
  CHECK(Text({-1}, {1}) == "ulps of float32: 2048 or more: 1");
}

TEST_CASE("what is not finite is equal or furthest") {
  CHECK(Text({kInfinity, kNan}, {kInfinity, kNan}) == "ulps of float32: 0: 2");
  CHECK(Text({kInfinity, kNan, 1, -kInfinity}, {3.4e38f, 1, kNan, kInfinity}) == "ulps of float32: 2048 or more: 4");
}

TEST_CASE("units are those of the narrower type") {
  const std::vector<float> expected = {1.0001f, 1, 2049, 70000};
  CHECK(CountUlps(Floats(expected), Narrow<Float16>(DType::kFloat16, {1, 1.001f, 2050, 65504})).Text() ==
        "ulps of float16: 0: 1, 1: 2, 2048 or more: 1");
  CHECK(CountUlps(Narrow<Bfloat16>(DType::kBfloat16, {1}), Narrow<Float16>(DType::kFloat16, {1.0078125f})).Text() ==
        "ulps of bfloat16: 1: 1");
}

TEST_CASE("what is no pair of float tensors of one shape has no units") {
  const auto unit = [](const Datum& a, const Datum& b) { return CountUlps(a, b).unit; };
  CHECK(unit(Datum(Tensor::OfInts({1})), Datum(Tensor::OfInts({1}))) == DType::kUndefined);
  CHECK(unit(Floats({1, 2}), Floats({1})) == DType::kUndefined);
  CHECK(unit(Datum(), Datum()) == DType::kUndefined);
}

TEST_CASE("rows have names") {
  CHECK(UlpHistogram::RowText(0) == "0");
  CHECK(UlpHistogram::RowText(3) == "4-7");
  CHECK(UlpHistogram::RowText(12) == "2048 or more");
}

}  // namespace
}  // namespace amp
