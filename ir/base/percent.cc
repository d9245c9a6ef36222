#include "ir/base/percent.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"

namespace amp {

std::string PercentText(double share, int significant_digits) {
  const double percent = 100 * share;
  std::string text = absl::StrFormat("%.*g", significant_digits, percent);
  if (!absl::StrContains(text, 'e')) return text;
  const int decimals = significant_digits - 1 - static_cast<int>(std::floor(std::log10(std::fabs(percent))));
  text = absl::StrFormat("%.*f", std::max(decimals, 0), percent);
  while (decimals > 0 && absl::EndsWith(text, "0")) text.pop_back();
  return text;
}

}  // namespace amp
