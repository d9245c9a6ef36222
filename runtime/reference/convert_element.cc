#include "runtime/reference/convert_element.h"

#include <algorithm>

namespace amp {

double ToDoubleForRounding(uint64_t x) {
  constexpr uint64_t kDropped = (1u << 11) - 1;  // of 64 bits, float64 holds 53
  if (x >> 53 != 0 && (x & kDropped) != 0) x = (x & ~kDropped) | (kDropped + 1);
  return static_cast<double>(x);
}

double ToDoubleForRounding(int64_t x) {
  const auto bits = static_cast<uint64_t>(x);
  return x < 0 ? -ToDoubleForRounding(uint64_t{0} - bits) : ToDoubleForRounding(bits);
}

uint8_t ConvertToE8M0(double x, const ConvertRules& rules) {
  constexpr uint8_t kNan = 0xff, kLargest = 0xfe;
  constexpr int kBias = 127;
  if (std::isnan(x)) return kNan;
  const double magnitude = std::fabs(x);
  if (std::isinf(magnitude)) return rules.saturate ? kLargest : kNan;
  if (magnitude == 0) return rules.saturate ? 0 : kNan;
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent);  // in [0.5, 1)
  const bool up = rules.e8m0_round == ConvertRules::Round::kUp        ? fraction > 0.5
                  : rules.e8m0_round == ConvertRules::Round::kNearest ? fraction >= 0.75
                                                                      : false;
  const int field = exponent - 1 + (up ? 1 : 0) + kBias;
  if (field >= 0 && field <= kLargest) return static_cast<uint8_t>(field);
  return rules.saturate ? static_cast<uint8_t>(std::clamp(field, 0, int{kLargest})) : kNan;
}

uint8_t ConvertToTinyFloat(double x, DType type, const ConvertRules& rules) {
  if (type == DType::kFloat8E8M0) return ConvertToE8M0(x, rules);
  const Overflow overflow = rules.saturate ? Overflow::kSaturate : Overflow::kKeepInfinity;
  return static_cast<uint8_t>(EncodeMinifloat(x, type, overflow));
}

}  // namespace amp
