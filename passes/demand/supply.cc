#include "passes/demand/supply.h"

#include <cmath>
#include <limits>

namespace amp {
namespace {

constexpr size_t kMostPoints = 8;       // that a value comes near; sums with constants double their number
constexpr int64_t kFew = 4;             // elements that are scales of their own: one per axis of a picture
constexpr double kRoomOfDividends = 4;  // their largest, of their size
constexpr double kSureScale = 64;       // a factor so large, or as small, tells the size of a product alone

// A low estimate of what a constant multiplies by: the smallest of a few scales per axis, which differ by orders, else
// the geometric mean of what is not zero.
double ScaleOf(const std::vector<double>& elements) {
  double least = std::numeric_limits<double>::infinity(), logarithms = 0;
  int64_t count = 0;
  for (const double element : elements) {
    const double magnitude = std::abs(element);
    if (magnitude == 0 || !std::isfinite(magnitude)) continue;
    least = std::min(least, magnitude);
    logarithms += std::log(magnitude);
    ++count;
  }
  if (count == 0) return 0;
  return count <= kFew ? least : std::exp(logarithms / static_cast<double>(count));
}

template <typename T>
void KeepLarger(std::optional<T>& known, const std::optional<T>& other) {
  if (other.has_value() && (!known.has_value() || *other > *known)) known = other;
}

// Products of displacements are displacements of a product.
std::optional<Supply::Base> ProductOfBases(const Supply& x, const Supply& y) {
  if (!x.base.has_value() || !y.base.has_value()) return std::nullopt;
  const auto& [constant, size, moved, at, is_grid] = *x.base;
  Supply::Base base{constant, size * y.base->size, std::nullopt, std::nullopt, false};
  if (at.has_value() && y.base->at.has_value()) base.at = *at * *y.base->at;
  if (moved.has_value() && y.base->moved.has_value()) {
    base.moved = size * *y.base->moved + y.base->size * *moved + *moved * *y.base->moved;
  }
  return base;
}

// A constant and a displacement of another one: two numbers make a third.
std::optional<Supply::Base> SumOfBases(const Supply& constant, const Supply& other) {
  std::optional<Supply::Base> base = constant.base.has_value() ? constant.base : other.base;
  if (!base.has_value()) return base;
  base->moved = other.base.has_value() ? other.base->moved : other.size;
  if (!constant.base.has_value() || !other.base.has_value()) {
    if (!constant.base.has_value()) base->at.reset();
    return base;
  }
  const auto a = constant.base->at, b = other.base->at;
  base->at.reset();
  if (!a.has_value() || !b.has_value()) return base;
  base->at = *a + *b;
  base->size = std::abs(*base->at);
  return base;
}

// A displacement of a number by much less.
bool IsFarFromZero(const Supply& x) {
  constexpr double kFar = 4;
  return x.base.has_value() && x.base->at.has_value() && x.base->moved.has_value() &&
         std::abs(*x.base->at) > kFar * *x.base->moved;
}

// Both ends of a constant, once if they are the same.
std::vector<double> EndsOf(const Supply& constant) {
  if (constant.interval.low == constant.interval.high) return {constant.interval.low};
  return {constant.interval.low, constant.interval.high};
}

}  // namespace

std::optional<double> Supply::KnownSize(bool surely) const {
  std::optional<double> known;
  if (is_size_sure || !surely) known = size;
  KeepLarger(known, count);
  if (base.has_value()) KeepLarger(known, std::optional<double>(base->size));
  if (reaches && IsBounded()) KeepLarger(known, std::optional<double>(Bound()));
  return known;
}

const Supply::Point* Supply::FindNear(double at) const {
  const auto it = std::find_if(near.begin(), near.end(), [&](const Point& point) { return point.at == at; });
  return it == near.end() ? nullptr : &*it;
}

void Supply::SetNear(double at, Approach why) {
  if (!std::isfinite(at)) return;
  const auto it = std::find_if(near.begin(), near.end(), [&](const Point& point) { return point.at == at; });
  if (it != near.end()) {
    it->why = std::min(it->why, why);
  } else if (near.size() < kMostPoints) {
    near.push_back({at, why});
  }
}

Supply SupplyOfConstant(ValueId value, std::vector<double> elements) {
  Supply supply;
  supply.is_constant = supply.is_stored = true;
  supply.scale = ScaleOf(elements);
  supply.elements = static_cast<int64_t>(elements.size());
  std::erase_if(elements, [](double element) { return !std::isfinite(element); });
  if (elements.empty()) return supply;
  const auto [low, high] = std::minmax_element(elements.begin(), elements.end());
  supply.interval = {*low, *high};
  supply.reaches = true;
  supply.size = LargestMagnitude(supply.interval);
  supply.is_size_sure = true;
  const auto is_whole = [](double element) { return element == std::round(element); };
  supply.is_whole = *supply.size <= 1 << 24 && std::all_of(elements.begin(), elements.end(), is_whole);
  if (supply.is_whole) supply.count = supply.size;
  const auto is_half = [](double element) { return 2 * element == std::round(2 * element); };
  const bool is_grid = std::ssize(elements) > kFew && std::all_of(elements.begin(), elements.end(), is_half);
  supply.base = Supply::Base{value, *supply.size, std::nullopt, std::nullopt, is_grid};
  if (*low == *high) supply.base->at = *low;
  return supply;
}

Supply OfElements(const Supply& x) {
  Supply result = x;
  result.peak.reset();
  result.maximum_of = kNone;
  result.is_stored = result.is_observed = false;
  return result;
}

// A constant beside a variable tells nothing of sizes and points: it is chosen now and then.
Supply Join(const Supply& x, const Supply& y) {
  if (x.is_constant != y.is_constant) {
    const Supply& variable = x.is_constant ? y : x;
    Supply result = OfElements(variable);
    result.interval = Hull(x.interval, y.interval);
    result.reaches = x.reaches && y.reaches;
    result.is_whole = x.is_whole && y.is_whole;
    KeepLarger(result.count, (x.is_constant ? x : y).count);
    return result;
  }
  Supply result;
  result.is_constant = x.is_constant && y.is_constant;
  result.elements = x.elements + y.elements;
  result.scale = std::min(x.scale, y.scale);
  result.interval = Hull(x.interval, y.interval);
  result.reaches = x.reaches && y.reaches;
  result.near = x.near;
  for (const Supply::Point& point : y.near) result.SetNear(point.at, point.why);
  if (x.size.has_value() && y.size.has_value()) result.size = std::max(*x.size, *y.size);
  result.is_size_sure = x.is_size_sure || y.is_size_sure;
  result.is_whole = x.is_whole && y.is_whole;
  result.count = x.count;
  KeepLarger(result.count, y.count);
  result.base = x.base.has_value() ? x.base : y.base;
  if (result.base.has_value()) result.base->at.reset();
  return result;
}

Supply Observed(const Supply& x, const ObservedValue& observed) {
  Supply result = x;
  result.size = observed.largest;
  result.is_size_sure = result.is_observed = true;
  result.near.clear();
  const ObservedEnds ends = observed.ends.value_or(ObservedEnds());
  const auto comes_near = [&](double pole, double element) {
    if (element != 0 && element != pole) result.SetNear(element, Approach::kSaturates);
  };
  comes_near(0, ends.from_zero);
  comes_near(1, 1 - ends.below_one);
  comes_near(-1, ends.above_minus_one - 1);
  for (const Supply::Point& point : x.near) {
    if (std::abs(point.at) <= observed.largest) result.SetNear(point.at, point.why);
  }
  return result;
}

Supply OfDifference(const Supply& difference) {
  Supply result = difference;
  result.size = result.base.has_value() ? result.base->moved : std::nullopt;
  if (!result.is_whole) result.count.reset();
  if (result.base.has_value() && result.base->at.has_value()) {
    KeepLarger(result.size, std::optional(result.base->size));  // what is left of two numbers
  } else {
    result.base.reset();
  }
  return result;
}

Supply BelowMaximum(const Supply& x) {
  Supply result = x;
  result.interval = {x.interval.low - x.interval.high, 0};
  result.near.clear();
  if (x.near.size() > 1 && x.IsBounded()) result.SetNear(result.interval.low, Approach::kSaturates);
  result.base.reset();
  result.peak = 0;
  return result;
}

Supply operator-(const Supply& x) {
  Supply result = OfElements(x);
  result.interval = -x.interval;
  for (Supply::Point& point : result.near) point.at = -point.at;
  if (result.base.has_value() && result.base->at.has_value()) result.base->at = -*result.base->at;
  return result;
}

Supply Squared(const Supply& x) {
  Supply result;
  result.is_constant = x.is_constant;
  result.elements = x.elements;
  result.scale = x.scale * x.scale;
  result.interval = Square(x.interval);
  result.reaches = x.reaches;
  for (const Supply::Point& point : x.near) result.SetNear(point.at * point.at, point.why);
  if (!x.IsBounded() && !x.is_constant && !IsFarFromZero(x)) result.SetNear(0, Approach::kSquares);
  if (x.size.has_value()) result.size = *x.size * *x.size;
  result.is_size_sure = x.is_size_sure;
  result.is_whole = x.is_whole;
  if (x.count.has_value()) result.count = *x.count * *x.count;
  result.base = ProductOfBases(x, x);
  return result;
}

Supply Root(const Supply& x) {
  const auto root = [](double number) { return std::sqrt(std::max(number, 0.0)); };
  Supply result;
  result.interval = {root(x.interval.low), root(x.interval.high)};
  result.reaches = x.reaches;
  for (const Supply::Point& point : x.near) result.SetNear(root(point.at), point.why);
  if (x.size.has_value()) result.size = root(*x.size);
  result.is_size_sure = x.is_size_sure;
  if (IsFarFromZero(x) && *x.base->at > 0) {
    result.base = x.base;
    result.base->at = result.base->size = root(*x.base->at);
    result.base->moved = *x.base->moved / (2 * result.base->size);
  }
  return result;
}

Supply Magnitude(const Supply& x) {
  Supply result = OfElements(x);
  result.interval = {0, x.Bound()};
  result.near.clear();
  for (const Supply::Point& point : x.near) result.SetNear(std::abs(point.at), point.why);
  if (result.base.has_value() && result.base->at.has_value()) result.base->at = std::abs(*result.base->at);
  return result;
}

Supply Rounded(const Supply& x) {
  Supply result = OfElements(x);
  result.is_whole = true;
  if (!result.count.has_value() && x.IsBounded()) result.count = x.Bound() + 1;
  result.near.clear();
  if (result.base.has_value()) result.base->at.reset();
  return result;
}

Supply Clamped(const Supply& x, Interval bounds) {
  Supply result = OfElements(x);
  result.interval = Clamped(x.interval, bounds);
  result.near.clear();
  for (const Supply::Point& point : x.near) {
    result.SetNear(std::clamp(point.at, bounds.low, std::max(bounds.low, bounds.high)), point.why);
  }
  if (x.interval.low < bounds.low) result.SetNear(bounds.low, Approach::kReaches);
  if (x.interval.high > bounds.high) result.SetNear(bounds.high, Approach::kReaches);
  if (result.size.has_value() && IsBounded(bounds)) *result.size = std::min(*result.size, LargestMagnitude(bounds));
  return result;
}

Supply Sum(const Supply& x, const Supply& y) {
  Supply result;
  result.is_constant = x.is_constant && y.is_constant;
  result.elements = std::max(x.elements, y.elements);
  result.scale = std::max(x.scale, y.scale);
  result.interval = x.interval + y.interval;
  result.reaches = x.reaches && y.reaches;
  result.is_whole = x.is_whole && y.is_whole;
  if (x.count.has_value() || y.count.has_value()) result.count = x.count.value_or(0) + y.count.value_or(0);
  const bool has_constant = x.is_constant || y.is_constant;
  const Supply& constant = x.is_constant ? x : y;
  const Supply& other = x.is_constant ? y : x;
  if (has_constant) {
    for (const Supply::Point& point : other.near) {
      for (const double end : EndsOf(constant)) {
        if (std::isfinite(end)) result.SetNear(point.at + end, point.why);
      }
    }
    result.base = SumOfBases(constant, other);
  } else {
    const auto saturates_at_zero = [](const Supply& z) {
      const Supply::Point* zero = z.FindNear(0);
      return z.IsNonNegative() && zero != nullptr && zero->why == Approach::kSaturates;
    };
    if (saturates_at_zero(x) && saturates_at_zero(y)) result.SetNear(0, Approach::kSaturates);
    result.base = x.base.has_value() ? x.base : y.base;
    if (result.base.has_value()) result.base->at.reset();
  }
  if (x.size.has_value() && y.size.has_value()) {
    result.size = std::max(*x.size, *y.size);
    const bool is_larger_sure = *x.size >= *y.size ? x.is_size_sure : y.is_size_sure;
    result.is_size_sure = has_constant ? other.is_size_sure : is_larger_sure;
  }
  return result;
}

namespace {

// The product of a variable and a constant.
Supply Scaled(const Supply& x, const Supply& constant) {
  Supply result;
  result.interval = x.interval * constant.interval;
  result.reaches = x.reaches && constant.reaches;
  result.is_whole = x.is_whole && constant.is_whole;
  if (x.size.has_value() && constant.scale > 0) result.size = *x.size * constant.scale;
  const bool decides = constant.scale >= kSureScale || constant.scale <= 1 / kSureScale;
  result.is_size_sure = x.is_size_sure || decides;
  for (const Supply::Point& point : x.near) {
    if (point.at == 0) {
      result.SetNear(0, point.why);
      continue;
    }
    for (const double end : EndsOf(constant)) {
      if (std::isfinite(end)) result.SetNear(point.at * end, point.why);
    }
  }
  if (x.count.has_value()) result.count = *x.count * constant.scale;
  if (x.base.has_value()) {
    result.base = x.base;
    result.base->size *= constant.scale;
    if (result.base->moved.has_value()) *result.base->moved *= constant.scale;
    if (result.base->at.has_value()) {
      result.base->at = constant.IsUniform() ? std::optional(*x.base->at * constant.interval.low) : std::nullopt;
    }
  }
  return result;
}

}  // namespace

Supply Product(const Supply& x, const Supply& y) {
  if (x.is_constant && !y.is_constant) return Scaled(y, x);
  if (y.is_constant && !x.is_constant) return Scaled(x, y);
  Supply result;
  result.is_constant = x.is_constant && y.is_constant;
  result.elements = std::max(x.elements, y.elements);
  result.scale = x.scale * y.scale;
  result.interval = x.interval * y.interval;
  result.reaches = x.reaches && y.reaches;
  result.is_whole = x.is_whole && y.is_whole;
  if (x.size.has_value() && y.size.has_value()) {
    result.size = *x.size * *y.size;
    result.is_size_sure = x.is_size_sure && y.is_size_sure;
  }
  if (x.count.has_value() && y.count.has_value()) {
    result.count = *x.count * *y.count;
  } else if (x.count.has_value() && y.size.has_value()) {
    result.count = *x.count * *y.size;
  } else if (y.count.has_value() && x.size.has_value()) {
    result.count = *y.count * *x.size;
  }
  result.base = ProductOfBases(x, y);
  for (const Supply* operand : {&x, &y}) {
    if (const Supply::Point* zero = operand->FindNear(0)) result.SetNear(0, zero->why);
  }
  return result;
}

Supply Inverse(const Supply& constant) {
  Supply result;
  result.is_constant = true;
  result.elements = constant.elements;
  const Interval& ends = constant.interval;
  const bool holds_zero = ends.low <= 0 && ends.high >= 0;
  if (!holds_zero) {
    result.interval = {std::min(1 / ends.low, 1 / ends.high), std::max(1 / ends.low, 1 / ends.high)};
    result.reaches = constant.reaches;
    result.size = LargestMagnitude(result.interval);
    result.is_size_sure = true;
  }
  if (constant.scale > 0) {
    const bool is_few = constant.elements <= kFew;
    result.scale = is_few && constant.Bound() > 0 ? 1 / constant.Bound() : 1 / constant.scale;
  }
  return result;
}

Supply Quotient(const Supply& x, const Supply& divisor) {
  Supply result;
  if (x.IsNonNegative() && divisor.IsNonNegative()) result.interval.low = 0;
  double largest = x.reaches && x.IsBounded() ? x.Bound() : 0;
  for (const Supply::Point& point : x.near) largest = std::max(largest, std::abs(point.at));
  if (!x.is_constant) largest = std::max(largest, kRoomOfDividends * x.size.value_or(0));
  // A share of a whole that may vanish is small where the whole is: p / (sum of p + 1e-6).
  const bool is_share = x.FindNear(0) != nullptr && x.IsNonNegative() && divisor.IsNonNegative();
  for (const Supply::Point& point : divisor.near) {
    const bool counts = point.at != 0 && largest != 0 && point.why == Approach::kSaturates && !is_share;
    if (counts) result.SetNear(largest / point.at, Approach::kSaturates);
  }
  if (const Supply::Point* zero = x.FindNear(0); zero != nullptr && zero->why == Approach::kSaturates) {
    result.SetNear(0, Approach::kSaturates);
  }
  if (x.size.has_value() && divisor.is_size_sure && divisor.size.value_or(0) > 0) {
    result.size = *x.size / *divisor.size;
    result.is_size_sure = true;
  }
  if (divisor.interval.low > 0) {
    result.interval.high = x.Bound() / divisor.interval.low;
    result.interval.low = std::max(result.interval.low, -result.interval.high);
  }
  return result;
}

bool Cancel(const Supply& x, const Supply& y) {
  if (!x.base.has_value() || !y.base.has_value() || y.base->size <= 0) return false;
  if (x.base->constant == y.base->constant) return true;
  if (!x.is_constant && !y.is_constant) return false;
  if (x.base->at.has_value() && y.base->at.has_value()) {
    return std::abs(*x.base->at - *y.base->at) <= std::max(x.base->size, y.base->size) / 4;
  }
  const double ratio = x.base->size / y.base->size;
  return ratio >= 0.5 && ratio <= 2;
}

}  // namespace amp
