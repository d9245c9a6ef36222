// Functions of the loops against the C library in float64, over the whole range of float32. Every set of loops that the
// processor can run is tested.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "runtime/loops/best_loops.h"
#include "tests/catch2.h"

namespace amp {
namespace {

// The distance of `found` from `expected` in units of expected's last place as a float32.
double UlpsBetween(float found, double expected) {
  const auto rounded = static_cast<float>(expected);
  if (std::isnan(found) || std::isnan(rounded)) return std::isnan(found) == std::isnan(rounded) ? 0 : INFINITY;
  if (std::isinf(found) || std::isinf(rounded)) return found == rounded ? 0 : INFINITY;
  if (found == 0 && rounded == 0) return std::signbit(found) == std::signbit(rounded) ? 0 : INFINITY;
  constexpr int kLeastExponent = -125, kDigits = 24;
  int exponent = 0;
  std::frexp(rounded, &exponent);
  return std::fabs(found - expected) / std::ldexp(1.0, std::max(exponent, kLeastExponent) - kDigits);
}

// float32 from the least to the largest, negative ones too, infinities and NaN, a prime number of them apart.
std::vector<float> NumbersOfAllSizes() {
  constexpr uint64_t kStep = 9973;
  std::vector<float> numbers;
  for (uint64_t bits = 0; bits <= std::numeric_limits<uint32_t>::max(); bits += kStep) {
    const auto word = static_cast<uint32_t>(bits);
    numbers.emplace_back();
    std::memcpy(&numbers.back(), &word, sizeof(word));
  }
  for (const float x : {0.0F, -0.0F, 1.0F, -1.0F, INFINITY, -INFINITY, 131072.0F, 131072.02F, 89.4F, 3.4e38F}) {
    numbers.push_back(x);
  }
  return numbers;
}

struct NamedFunction {
  const char* name;
  UnaryLoop UnaryLoops::*loop;
  double (*of)(double);
};
const NamedFunction kFunctions[] = {
    {"acos", &UnaryLoops::acos, std::acos}, {"acosh", &UnaryLoops::acosh, std::acosh},
    {"asin", &UnaryLoops::asin, std::asin}, {"asinh", &UnaryLoops::asinh, std::asinh},
    {"atan", &UnaryLoops::atan, std::atan}, {"atanh", &UnaryLoops::atanh, std::atanh},
    {"cos", &UnaryLoops::cos, std::cos},    {"cosh", &UnaryLoops::cosh, std::cosh},
    {"erf", &UnaryLoops::erf, std::erf},    {"exp", &UnaryLoops::exp, std::exp},
    {"log", &UnaryLoops::log, std::log},    {"sin", &UnaryLoops::sin, std::sin},
    {"sinh", &UnaryLoops::sinh, std::sinh}, {"tan", &UnaryLoops::tan, std::tan},
    {"tanh", &UnaryLoops::tanh, std::tanh},
};

TEST_CASE("functions are within 4 units in the last place over the whole range") {
  const std::vector<float> x = NumbersOfAllSizes();
  std::vector<float> y(x.size());
  for (const Loops* loops : UsableLoops()) {
    for (const NamedFunction& function : kFunctions) {
      (loops->unary.*function.loop)(x.data(), y.data(), x.size(), {});
      double worst = 0;
      float at = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const double ulps = UlpsBetween(y[i], function.of(x[i]));
        if (ulps > worst) worst = ulps, at = x[i];
      }
      INFO(loops->name << ": " << function.name << " of " << at);
      CHECK(worst <= 4);
    }
  }
}

TEST_CASE("an element's function does not depend on those beside it") {
  std::vector<float> x(64, 0.75F), y(x.size()), large(x), beside(x.size());
  for (size_t i = 0; i < large.size(); i += 3) large[i] = 1e9F;
  for (const Loops* loops : UsableLoops()) {
    for (const auto loop : {&UnaryLoops::sin, &UnaryLoops::cos, &UnaryLoops::tan}) {
      (loops->unary.*loop)(x.data(), y.data(), x.size(), {});
      (loops->unary.*loop)(large.data(), beside.data(), x.size(), {});
      for (size_t i = 0; i < x.size(); ++i) CHECK((i % 3 == 0 || y[i] == beside[i]));
    }
  }
}

TEST_CASE("powers are those of the C library") {
  constexpr float kSpecial[] = {0.0F,     -0.0F,     1.0F,  -1.0F,       2.0F,       -2.0F,   3.0F,        -3.0F,
                                0.5F,     -0.5F,     1e30F, 16777215.F,  16777216.F, 3.4e38F, 1e-45F,      -1e-45F,
                                INFINITY, -INFINITY, NAN,   -16777215.F, 1.5F,       -1.5F,   0.99999994F, 1.0000001F};
  std::vector<float> x, e;
  for (const float base : kSpecial) {
    for (const float exponent : kSpecial) x.push_back(base), e.push_back(exponent);
  }
  std::mt19937 random(5);
  std::normal_distribution<float> of_logarithm(0, 4), of_exponent(0, 6);
  for (int i = 0; i < 100'000; ++i) {
    const float sign = random() % 2 == 0 ? 1.0F : -1.0F, exponent = of_exponent(random);
    x.push_back(sign * std::exp(of_logarithm(random)));
    e.push_back(sign < 0 ? std::nearbyint(exponent) : exponent);
  }
  std::vector<float> y(x.size());
  for (const Loops* loops : UsableLoops()) {
    loops->binary.power.of_both(x.data(), e.data(), y.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      const double expected = std::pow(static_cast<double>(x[i]), static_cast<double>(e[i]));
      const bool has_sign = std::isnan(expected) || std::signbit(expected) == std::signbit(y[i]);
      if (has_sign && UlpsBetween(y[i], expected) <= 1) continue;
      INFO(loops->name << ": " << x[i] << " to the power of " << e[i] << ", expected " << expected);
      CHECK(y[i] == static_cast<float>(expected));
    }
  }
}

}  // namespace
}  // namespace amp
