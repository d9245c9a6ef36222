// The inputs of ai.amp.GatherGradient (shape, indices, g), for all kernels that compute it: the gradient of a table
// whose rows were picked.
//
//   shape [5, 3], indices [[4, 0], [-1, 4]], g [2, 2, 3]      rows {4, 0, 4, 4} of dx get the 4 rows of g
#ifndef AMP_RUNTIME_KERNEL_GATHER_GRADIENT_H_
#define AMP_RUNTIME_KERNEL_GATHER_GRADIENT_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernel/kernel.h"

namespace amp {

struct PickedRows {
  Dims table;                // of dx
  size_t row_size = 0;       // elements of a row
  std::vector<size_t> rows;  // of the table, by row of g
};

// Errors: a shape or a g that does not fit the indices, an index that is out of range.
absl::StatusOr<PickedRows> ReadPickedRows(const KernelContext& context);

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_GATHER_GRADIENT_H_
