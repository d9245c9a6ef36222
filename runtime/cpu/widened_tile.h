// A tile of a matrix of 16 bits, widened to float32 and laid out by columns: as a product reads it fastest.
//
//   b [depth, columns], or transposed [columns, depth]   ->   tile [columns, depth]
#ifndef AMP_RUNTIME_CPU_WIDENED_TILE_H_
#define AMP_RUNTIME_CPU_WIDENED_TILE_H_

#include <cstdint>

#include "ir/base/dtype.h"

namespace amp {

// Where the tile lies in the matrix: its first element there, and the elements between rows of the matrix.
struct StoredTile {
  const uint16_t* first = nullptr;
  DType dtype = DType::kUndefined;  // float16 or bfloat16
  int64_t step = 0;
  bool is_transposed = false;
  int64_t depth = 0, columns = 0;
};

// Column c of the tile begins at to[c * to_step]. With the threads of the run.
void WidenTile(const StoredTile& tile, float* to, int64_t to_step);

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_WIDENED_TILE_H_
