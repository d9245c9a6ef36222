#include "runtime/loops/dynamic_quantization.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/kernel/parallel_for.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/float_parts.h"

namespace amp {
namespace {

struct Range {
  float lowest = 0, highest = 0;

  void Add(const Range& other) {
    lowest = std::min(lowest, other.lowest);
    highest = std::max(highest, other.highest);
  }
};

Range RangeOf(const float* x, size_t count) {
  const RowLoops& rows = BestLoops().rows;
  Range range = {rows.min(x, count), rows.max(x, count)};
  if (!std::isnan(range.lowest)) return range;
  range = {};
  for (size_t i = 0; i < count; ++i) {
    if (!std::isnan(x[i])) range.Add({x[i], x[i]});
  }
  return range;
}

}  // namespace

DynamicQuantization DynamicQuantizationOf(const float* x, size_t count) {
  const size_t parts = (count + kPartSize - 1) / kPartSize;
  std::vector<Range> ranges(MostShares());
  ParallelFor(parts, kPartSize, [&](const Share& share) {
    for (size_t part = share.first; part < share.end; ++part) {
      const size_t first = part * kPartSize;
      ranges[share.index].Add(RangeOf(x + first, std::min(kPartSize, count - first)));
    }
  });
  Range range;
  for (const Range& each : ranges) range.Add(each);
  if (range.lowest == range.highest) return {};
  const float scale = (range.highest - range.lowest) / 255;
  const float zero_point = std::nearbyint(-range.lowest / scale);
  return {scale, zero_point >= 0 ? std::min(zero_point, 255.0f) : 0};
}

}  // namespace amp
