// Spectra of prime lengths: against the sums that define them, in long double.
#include <time.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <random>

#include "absl/strings/str_cat.h"
#include "tests/catch2.h"
#include "tests/runtime/session_text.h"

namespace amp {
namespace {

using Complex = std::complex<long double>;

std::unique_ptr<Session> SessionOf(const std::string& graph) {
  absl::StatusOr<std::unique_ptr<Session>> session = CreateSession({.text = graph}, {});
  INFO(session.status());
  REQUIRE(session.ok());
  return *std::move(session);
}

// With the signal's axis as an attribute, and as an input. `attributes`: "inverse = 1", or nothing.
std::string Dft17(const std::string& type, const std::string& attributes) {
  return absl::StrCat(R"(<ir_version: 8, opset_import: ["" : 17]> g ()", type, "[1,n,p] x) => (", type,
                      "[1,m,q] y) { y = DFT <axis = 1", attributes.empty() ? "" : ", ", attributes, "> (x) }");
}
std::string Dft20(const std::string& type, const std::string& attributes) {
  const std::string all = attributes.empty() ? "" : absl::StrCat("<", attributes, ">");
  return absl::StrCat(R"(<ir_version: 10, opset_import: ["" : 20]> g ()", type, "[1,n,p] x) => (", type,
                      "[1,m,q] y) <int64 axis = {-2}> { y = DFT ", all, " (x, , axis) }");
}

std::vector<double> Noise(size_t count) {
  std::mt19937_64 random(count);
  std::normal_distribution<double> normal;
  std::vector<double> numbers(count);
  for (double& number : numbers) number = normal(random);
  return numbers;
}

std::vector<Complex> Sums(const std::vector<Complex>& in, bool inverse) {
  const size_t n = in.size();
  std::vector<Complex> roots(n), out(n);
  for (size_t k = 0; k < n; ++k) {
    const long double angle =
        2 * std::numbers::pi_v<long double> * static_cast<long double>(k) / static_cast<long double>(n);
    roots[k] = {std::cos(angle), inverse ? std::sin(angle) : -std::sin(angle)};
  }
  for (size_t j = 0; j < n; ++j) {
    for (size_t k = 0; k < n; ++k) out[j] += in[k] * roots[j * k % n];
    if (inverse) out[j] /= static_cast<long double>(n);
  }
  return out;
}

// The largest error, in units of the type's rounding of the largest element.
double ErrorOf(const std::vector<double>& found, const std::vector<Complex>& expected, size_t parts, double epsilon) {
  long double worst = 0, largest = 0;
  for (size_t i = 0; i < found.size() / parts; ++i) {
    worst = std::max(worst, std::fabs(found[i * parts] - expected[i].real()));
    if (parts == 2) worst = std::max(worst, std::fabs(found[i * 2 + 1] - expected[i].imag()));
    largest = std::max(largest, std::abs(expected[i]));
  }
  return static_cast<double>(worst / largest) / epsilon;
}

template <typename T>
Tensor Signal(DType dtype, const std::vector<double>& numbers, size_t parts) {
  const std::vector<T> elements(numbers.begin(), numbers.end());
  return Tensor::Of<T>(dtype, {1, static_cast<int64_t>(numbers.size() / parts), static_cast<int64_t>(parts)}, elements);
}

std::vector<double> Run(const Session& session, const Tensor& x) {
  const absl::StatusOr<std::vector<Datum>> outputs = session.Run({{"x", x}});
  INFO(outputs.status());
  REQUIRE(outputs.ok());
  return *ReadDoubles(*outputs->at(0).tensor());
}

constexpr size_t kLengths[] = {1, 2, 3, 61, 67, 71, 101, 128, 134, 509, 1009, 2003, 3027, 4001, 4757};

TEST_CASE("a DFT of any length, also a prime one, gives the sums that define it") {
  for (const size_t length : kLengths) {
    const std::vector<double> numbers = Noise(2 * length);
    std::vector<Complex> in;
    in.reserve(length);
    for (size_t i = 0; i < length; ++i) in.emplace_back(numbers[2 * i], numbers[2 * i + 1]);
    for (const bool inverse : {false, true}) {
      CAPTURE(length, inverse);
      const std::vector<Complex> expected = Sums(in, inverse);
      const std::string attributes = inverse ? "inverse = 1" : "";
      for (const std::string& graph : {Dft17("double", attributes), Dft20("double", attributes)}) {
        const std::vector<double> found = Run(*SessionOf(graph), Signal<double>(DType::kFloat64, numbers, 2));
        REQUIRE(found.size() == 2 * length);
        CHECK(ErrorOf(found, expected, 2, std::numeric_limits<double>::epsilon()) < 16);
      }
    }
  }
}

TEST_CASE("a one-sided DFT of a prime length gives half of the sums, and back to the signal") {
  for (const size_t length : kLengths) {
    CAPTURE(length);
    std::vector<double> numbers = Noise(length);
    for (double& number : numbers) number = static_cast<float>(number);
    std::vector<Complex> expected = Sums(std::vector<Complex>(numbers.begin(), numbers.end()), false);
    expected.resize(length / 2 + 1);
    const std::vector<double> found =
        Run(*SessionOf(Dft17("float", "onesided = 1")), Signal<float>(DType::kFloat32, numbers, 1));
    REQUIRE(found.size() == 2 * expected.size());
    CHECK(ErrorOf(found, expected, 2, std::numeric_limits<float>::epsilon()) <= 0.5);
    const std::string back = absl::StrCat(R"(<ir_version: 10, opset_import: ["" : 20]> g (float[1,h,2] x) => ()",
                                          "float[1,n,1] y) <int64 length = {", length, "}, int64 axis = {1}> {",
                                          " y = DFT <inverse = 1, onesided = 1> (x, length, axis) }");
    const std::vector<double> signal = Run(*SessionOf(back), Signal<float>(DType::kFloat32, found, 2));
    REQUIRE(signal.size() == length);
    CHECK(ErrorOf(signal, std::vector<Complex>(numbers.begin(), numbers.end()), 1,
                  std::numeric_limits<float>::epsilon()) < 4);
  }
}

double SecondsOf(const Session& session, const Tensor& x) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 5; ++i) {
    timespec before, after;
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    Run(session, x);
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    least = std::min(least, static_cast<double>(after.tv_sec - before.tv_sec) +
                                1e-9 * static_cast<double>(after.tv_nsec - before.tv_nsec));
  }
  return least;
}

TEST_CASE("a prime length takes time in proportion, but for a logarithm") {
  const std::unique_ptr<Session> session = SessionOf(Dft17("float", ""));
  const double small = SecondsOf(*session, Signal<float>(DType::kFloat32, Noise(2003), 1));
  const double large = SecondsOf(*session, Signal<float>(DType::kFloat32, Noise(32003), 1));
  CHECK(large < 64 * small);  // by squares it is 256
}

}  // namespace
}  // namespace amp
