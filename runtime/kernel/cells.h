// A tensor in cells: the elements that differ only in their places along some axes make one cell. What Reduce, Softmax
// and all normalizations have in common.
//
//   x is [2,3,4], axes {0,2}: 3 cells of 8 elements
//   for (const size_t start : cells.starts)
//     for (const size_t offset : cells.offsets) Use(x[start + offset]);
//
// Every cell has its elements at the same offsets from its first one. Where a dimension is 0 there may be cells without
// elements: a sum over nothing has a result too.
#ifndef AMP_RUNTIME_KERNEL_CELLS_H_
#define AMP_RUNTIME_KERNEL_CELLS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace amp {

struct Cells {
  std::vector<size_t> starts;   // of the cells, row by row along the axes that they have not
  std::vector<size_t> offsets;  // of a cell's elements, row by row along the axes that it has
};

// REQUIRES: the dims are those of a tensor, and the product of those off the axes is at most kMaxElements; axes as
// NormalizeAxes gives them.
Cells CellsAlong(absl::Span<const int64_t> dims, absl::Span<const size_t> axes);

// first, first + 1, ..., last - 1.
std::vector<size_t> AxesBetween(size_t first, size_t last);

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_CELLS_H_
