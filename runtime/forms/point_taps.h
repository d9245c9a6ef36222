// The elements around a point of an image, axis by axis, and their products over all axes.
#ifndef AMP_RUNTIME_FORMS_POINT_TAPS_H_
#define AMP_RUNTIME_FORMS_POINT_TAPS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "runtime/forms/resample_axis.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// At most four different elements along an axis.
struct AxisTaps {
  struct Tap {
    int64_t at = 0;  // an index along the axis
    double weight = 1;
  };
  static constexpr size_t kMost = 4;
  std::array<Tap, kMost> taps = {};
  size_t count = 0;

  // Weights of the same element are added.
  void Add(int64_t at, double weight) {
    for (size_t i = 0; i < count; ++i) {
      if (taps[i].at != at) continue;
      taps[i].weight += weight;
      return;
    }
    taps[count++] = {at, weight};
  }
};

// How many points are worth to be treated at a time, so that their elements are a few thousand at most.
size_t PointsAtOnce(size_t axes, size_t taps_of_axis);

// Collects the elements of points, one after another. `image`: the sizes of the axes.
class PointElements {
 public:
  PointElements(absl::Span<const int64_t> image, size_t num_points);

  // The taps along each axis of the next point, to be set.
  absl::Span<AxisTaps> axes() { return absl::MakeSpan(axes_); }
  // Adds the point: the products of one tap of each axis, the last axis first to change.
  void Add();
  WeightedElements Take();

 private:
  Dims image_;
  std::vector<AxisTaps> axes_;
  WeightedElements elements_;  // with room behind the first `size_`
  size_t size_ = 0;
};

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_POINT_TAPS_H_
