// The range of a slice along one axis, for Slice and its gradient.
#ifndef AMP_RUNTIME_REFERENCE_SLICE_RANGE_H_
#define AMP_RUNTIME_REFERENCE_SLICE_RANGE_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace amp {

struct SliceRange {
  int64_t first = 0, count = 0, step = 1;
};

// Returns the range of [start : end : step] along an axis of `dim` elements; -1 is the last one. REQUIRES: step is not
// 0.
inline SliceRange RangeOf(int64_t start, int64_t end, int64_t step, int64_t dim) {
  const int64_t lowest = step < 0 ? -1 : 0, highest = step < 0 ? dim - 1 : dim;
  start = std::clamp(start < 0 ? start + dim : start, std::min(int64_t{0}, highest), highest);
  end = std::clamp(end < 0 ? end + dim : end, lowest, highest);
  const int64_t stride = std::clamp(step, -dim - 1, dim + 1);  // a longer one leads out as well
  const int64_t span = stride < 0 ? start - end : end - start;
  const int64_t length = std::abs(stride);
  return {.first = start, .count = span <= 0 ? 0 : (span - 1) / length + 1, .step = stride};
}

}  // namespace amp

#endif  // AMP_RUNTIME_REFERENCE_SLICE_RANGE_H_
