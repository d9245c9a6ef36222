#include "runtime/cpu/widened_tile.h"

#include <algorithm>
#include <cstddef>

#include "runtime/kernel/parallel_for.h"
#include "runtime/loops/best_loops.h"

namespace amp {

void WidenTile(const StoredTile& tile, float* to, int64_t to_step) {
  constexpr size_t kStripe = 8;  // columns that one thread takes at least
  const ConvertLoops& loops = BestLoops().convert;
  const bool is_float16 = tile.dtype == DType::kFloat16;
  const auto columns = static_cast<size_t>(tile.columns), depth = static_cast<size_t>(tile.depth),
             step = static_cast<size_t>(tile.step), result_step = static_cast<size_t>(to_step);
  ParallelFor((columns + kStripe - 1) / kStripe, kStripe * depth, [&](const Share& share) {
    const size_t first = share.first * kStripe, end = std::min(share.end * kStripe, columns);
    if (!tile.is_transposed) {
      const auto widen = is_float16 ? loops.widen_turned_float16 : loops.widen_turned_bfloat16;
      return widen(tile.first + first, step, depth, end - first, to + first * result_step, result_step);
    }
    const auto widen = is_float16 ? loops.widen_float16 : loops.widen_bfloat16;
    for (size_t c = first; c < end; ++c) widen(tile.first + c * step, to + c * result_step, depth);
  });
}

}  // namespace amp
