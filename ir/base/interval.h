// Intervals of numbers, and what arithmetic makes of them. An end that is infinite is not known.
#ifndef AMP_IR_BASE_INTERVAL_H_
#define AMP_IR_BASE_INTERVAL_H_

#include <algorithm>
#include <cmath>
#include <limits>

namespace amp {

struct Interval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  bool operator==(const Interval&) const = default;
};

inline bool IsBounded(Interval x) { return std::isfinite(x.low) && std::isfinite(x.high); }
inline bool KnowsAnEnd(Interval x) { return std::isfinite(x.low) || std::isfinite(x.high); }
// Returns the largest magnitude of the known ends; 0 if none is known.
inline double LargestMagnitude(Interval x) {
  return std::max(std::isfinite(x.low) ? std::abs(x.low) : 0, std::isfinite(x.high) ? std::abs(x.high) : 0);
}

// Returns x with numbers outside of `bounds` moved to the nearer bound.
inline Interval Clamped(Interval x, Interval bounds) {
  const auto clamped = [&](double a) { return std::min(std::max(a, bounds.low), bounds.high); };
  return {clamped(x.low), clamped(x.high)};
}
inline Interval Hull(Interval x, Interval y) { return {std::min(x.low, y.low), std::max(x.high, y.high)}; }

inline Interval operator-(Interval x) { return {-x.high, -x.low}; }
inline Interval operator+(Interval x, Interval y) { return {x.low + y.low, x.high + y.high}; }

inline Interval operator*(Interval x, Interval y) {
  const auto product = [](double a, double b) { return a == 0 || b == 0 ? 0 : a * b; };  // 0 times unknown is 0
  const auto [low, high] =
      std::minmax({product(x.low, y.low), product(x.low, y.high), product(x.high, y.low), product(x.high, y.high)});
  return {low, high};
}

inline Interval Square(Interval x) {
  const Interval product = x * x;
  const bool holds_zero = x.low <= 0 && x.high >= 0;
  return {holds_zero ? 0 : std::min(x.low * x.low, x.high * x.high), product.high};
}

}  // namespace amp

#endif  // AMP_IR_BASE_INTERVAL_H_
