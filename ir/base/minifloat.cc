#include "ir/base/minifloat.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "ir/base/check.h"

namespace amp {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Layout {
  int exponent_bits, mantissa_bits, bias;
  enum class Specials { kIeee, kNanIsAllOnes, kNanIsNegativeZero, kNone } specials;

  uint32_t mantissa_mask() const { return (1u << mantissa_bits) - 1; }
  uint32_t exponent_mask() const { return (1u << exponent_bits) - 1; }
  uint32_t sign() const { return 1u << (mantissa_bits + exponent_bits); }
  uint32_t infinity() const { return exponent_mask() << mantissa_bits; }
  // The bits of the largest finite number without a sign.
  uint32_t largest_finite() const {
    switch (specials) {
      case Specials::kIeee:
        return infinity() - 1;
      case Specials::kNanIsAllOnes:
        return (infinity() | mantissa_mask()) - 1;
      case Specials::kNanIsNegativeZero:
      case Specials::kNone:
        return infinity() | mantissa_mask();
    }
    return 0;
  }
  uint32_t nan() const {
    switch (specials) {
      case Specials::kIeee:
        return infinity() | (1u << (mantissa_bits - 1));
      case Specials::kNanIsAllOnes:
        return infinity() | mantissa_mask();
      case Specials::kNanIsNegativeZero:
        return sign();
      case Specials::kNone:
        return 0;
    }
    return 0;
  }
};

std::optional<Layout> LayoutOf(DType dtype) {
  using S = Layout::Specials;
  switch (dtype) {
    case DType::kFloat16:
      return Layout{5, 10, 15, S::kIeee};
    case DType::kBfloat16:
      return Layout{8, 7, 127, S::kIeee};
    case DType::kFloat8E4M3FN:
      return Layout{4, 3, 7, S::kNanIsAllOnes};
    case DType::kFloat8E4M3FNUZ:
      return Layout{4, 3, 8, S::kNanIsNegativeZero};
    case DType::kFloat8E5M2:
      return Layout{5, 2, 15, S::kIeee};
    case DType::kFloat8E5M2FNUZ:
      return Layout{5, 2, 16, S::kNanIsNegativeZero};
    case DType::kFloat4E2M1:
      return Layout{2, 1, 1, S::kNone};
    case DType::kFloat6E2M3:
      return Layout{2, 3, 1, S::kNone};
    case DType::kFloat6E3M2:
      return Layout{3, 2, 3, S::kNone};
    default:
      return std::nullopt;
  }
}

constexpr int kE8M0Bias = 127;
constexpr uint32_t kE8M0Nan = 0xff;

uint32_t EncodeE8M0(double value, Overflow overflow) {
  if (std::isnan(value)) return kE8M0Nan;
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return overflow == Overflow::kSaturate ? kE8M0Nan - 1 : kE8M0Nan;
  if (magnitude == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent);  // in [0.5, 1)
  const int power = fraction >= 0.75 ? exponent : exponent - 1;
  if (power + kE8M0Bias > 254) return overflow == Overflow::kSaturate ? kE8M0Nan - 1 : kE8M0Nan;
  return static_cast<uint32_t>(std::max(power + kE8M0Bias, 0));
}

// Rounds a finite magnitude above zero, to bits without a sign. A magnitude that is too large gives bits above those of
// the largest finite number.
uint32_t RoundMagnitude(double magnitude, const Layout& layout) {
  const int smallest_exponent = 1 - layout.bias;
  const int exponent = std::max(std::ilogb(magnitude), smallest_exponent);
  const int field = exponent + layout.bias;
  if (field > static_cast<int>(layout.exponent_mask()) + 1) return layout.sign();
  // Counts units in the last place of this binade; the carry into the next one is right by itself.
  const double units = std::nearbyint(std::ldexp(magnitude, layout.mantissa_bits - exponent));
  const int below_binade = (field - 1) << layout.mantissa_bits;
  return static_cast<uint32_t>(below_binade + static_cast<int>(units));
}

}  // namespace

bool IsMinifloat(DType type) { return type == DType::kFloat8E8M0 || LayoutOf(type).has_value(); }

double DecodeMinifloat(uint32_t bits, DType type) {
  if (type == DType::kFloat8E8M0) {
    return (bits & 0xff) == kE8M0Nan ? kNaN : std::ldexp(1.0, static_cast<int>(bits & 0xff) - kE8M0Bias);
  }
  using S = Layout::Specials;
  const std::optional<Layout> layout = LayoutOf(type);
  AMP_CHECK(layout.has_value());
  const uint32_t mantissa = bits & layout->mantissa_mask();
  const uint32_t exponent = (bits >> layout->mantissa_bits) & layout->exponent_mask();
  const bool negative = (bits & layout->sign()) != 0;
  if (layout->specials == S::kNanIsNegativeZero && negative && exponent == 0 && mantissa == 0) return kNaN;
  if (exponent == layout->exponent_mask()) {
    if (layout->specials == S::kNanIsAllOnes && mantissa == layout->mantissa_mask()) return kNaN;
    if (layout->specials == S::kIeee && mantissa != 0) return kNaN;
    if (layout->specials == S::kIeee) return negative ? -HUGE_VAL : HUGE_VAL;
  }
  const int scale = static_cast<int>(std::max(exponent, 1u)) - layout->bias - layout->mantissa_bits;
  const uint32_t significand = exponent == 0 ? mantissa : mantissa | (layout->mantissa_mask() + 1);
  const double magnitude = std::ldexp(static_cast<double>(significand), scale);
  return negative ? -magnitude : magnitude;
}

uint32_t EncodeMinifloat(double value, DType type, Overflow overflow) {
  if (type == DType::kFloat8E8M0) return EncodeE8M0(value, overflow);
  using S = Layout::Specials;
  const std::optional<Layout> layout = LayoutOf(type);
  AMP_CHECK(layout.has_value());
  if (std::isnan(value)) return layout->nan();
  const uint32_t sign = std::signbit(value) ? layout->sign() : 0;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return layout->specials == S::kNanIsNegativeZero ? 0 : sign;
  const uint32_t rounded = std::isinf(magnitude) ? layout->sign() : RoundMagnitude(magnitude, *layout);
  if (rounded == 0 && layout->specials == S::kNanIsNegativeZero) return 0;
  if (rounded <= layout->largest_finite()) return sign | rounded;
  if (overflow == Overflow::kSaturate || layout->specials == S::kNone) return sign | layout->largest_finite();
  return layout->specials == S::kIeee ? sign | layout->infinity()
                                      : layout->nan() | (layout->specials == S::kNanIsNegativeZero ? 0 : sign);
}

}  // namespace amp
