#include "runtime/loops/moments.h"

#include <cmath>

namespace amp {

RowMoments MomentsOf(const Loops& loops, absl::Span<const float> row, Centre centre) {
  const auto count = static_cast<double>(row.size());
  if (centre == Centre::kZero) {
    return {.mean = 0, .variance = loops.rows.sum_of_squares(row.data(), row.size()) / count};
  }
  // Around a number near the mean, which says how far off it is.
  const auto near_mean = static_cast<float>(loops.rows.sum(row.data(), row.size()) / count);
  const Deviations deviations = loops.rows.deviations(row.data(), row.size(), near_mean);
  const double off = deviations.sum / count;
  return {.mean = static_cast<double>(near_mean) + off, .variance = deviations.squares / count - off * off};
}

Affine Normalizing(const RowMoments& moments, double epsilon) {
  const auto near_mean = static_cast<float>(moments.mean);
  const double factor = 1 / std::sqrt(moments.variance + epsilon);
  return {.centre = near_mean,
          .factor = static_cast<float>(factor),
          .shift = static_cast<float>((static_cast<double>(near_mean) - moments.mean) * factor)};
}

}  // namespace amp
