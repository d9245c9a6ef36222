#include "tools/train/loss_curve.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace amp {
namespace {

constexpr size_t kMostMeans = 128;
constexpr size_t kColumns = 64, kRows = 10;

}  // namespace

void LossCurve::Add(double loss) {
  open_sum += loss;
  if (++open_steps < steps_per_mean) return;
  means.push_back(open_sum / static_cast<double>(open_steps));
  open_sum = 0;
  open_steps = 0;
  if (means.size() < kMostMeans) return;
  for (size_t i = 0; i < means.size() / 2; ++i) means[i] = (means[2 * i] + means[2 * i + 1]) / 2;
  means.resize(means.size() / 2);
  steps_per_mean *= 2;
}

std::string DrawCurve(const LossCurve& curve) {
  const size_t columns = std::min(kColumns, curve.means.size());
  double smallest = HUGE_VAL, largest = -HUGE_VAL;
  for (const double mean : curve.means) {
    if (!std::isfinite(mean)) continue;
    smallest = std::min(smallest, mean);
    largest = std::max(largest, mean);
  }
  if (columns < 2 || !(smallest <= largest)) return "";
  std::vector<std::string> rows(kRows, std::string(columns, ' '));
  const double height = largest > smallest ? largest - smallest : 1;
  for (size_t i = 0; i < columns; ++i) {
    const double mean = curve.means[i * curve.means.size() / columns];
    if (!std::isfinite(mean)) continue;
    rows[static_cast<size_t>(std::lround((largest - mean) / height * (kRows - 1)))][i] = '*';
  }
  std::string text;
  for (size_t i = 0; i < kRows; ++i) {
    const double level = largest - height * static_cast<double>(i) / (kRows - 1);
    absl::StrAppend(&text, absl::StrFormat("%10.4g |", level), rows[i], "\n");
  }
  const auto steps = static_cast<int64_t>(curve.means.size()) * curve.steps_per_mean;
  return absl::StrCat(text, std::string(11, ' '), "+", std::string(columns, '-'), " loss over ", steps, " steps\n");
}

}  // namespace amp
