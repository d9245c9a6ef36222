#include "runtime/forms/point_taps.h"

#include <algorithm>
#include <utility>

namespace amp {

size_t PointsAtOnce(size_t axes, size_t taps_of_axis) {
  constexpr size_t kMost = 4096;
  size_t points = kMost;
  for (size_t i = 0; i < axes; ++i) points /= taps_of_axis;
  return std::max<size_t>(points, 1);
}

PointElements::PointElements(absl::Span<const int64_t> image, size_t num_points)
    : image_(image.begin(), image.end()), axes_(image.size()) {
  elements_.begin.reserve(num_points + 1);
  elements_.begin.push_back(0);
}

void PointElements::Add() {
  size_t size = 1;
  for (const AxisTaps& axis : axes_) size *= axis.count;
  if (size_ + size > elements_.element.size()) {
    constexpr size_t kLeast = 1024;
    elements_.element.resize(2 * (size_ + size) + kLeast);
    elements_.weight.resize(elements_.element.size());
  }
  int64_t* const element = elements_.element.data() + size_;
  double* const weight = elements_.weight.data() + size_;
  size_ += size;
  elements_.begin.push_back(size_);
  if (size == 0) return;
  element[0] = 0;
  weight[0] = 1;
  size_t have = 1;  // products of the axes so far, each of which becomes as many as the next axis has taps
  for (size_t i = 0; i < axes_.size(); ++i) {
    const size_t count = axes_[i].count;
    for (size_t p = have; p-- > 0;) {
      const int64_t before = element[p] * image_[i];
      const double weight_before = weight[p];
      for (size_t t = 0; t < count; ++t) {
        element[p * count + t] = before + axes_[i].taps[t].at;
        weight[p * count + t] = weight_before * axes_[i].taps[t].weight;
      }
    }
    have *= count;
  }
}

WeightedElements PointElements::Take() {
  elements_.element.resize(size_);
  elements_.weight.resize(size_);
  return std::move(elements_);
}

}  // namespace amp
