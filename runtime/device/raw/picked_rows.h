// Adds rows of a gradient to the rows of a table. A thread computes each element, and adds in the order of the rows, so
// that sums have the same bits every time.
#ifndef AMP_RUNTIME_DEVICE_RAW_PICKED_ROWS_H_
#define AMP_RUNTIME_DEVICE_RAW_PICKED_ROWS_H_

#include <cstdint>

#include "runtime/device/raw/element.h"
#include "runtime/device/raw/kernels.h"

namespace amp::device {

// Row rows[i] of dx = the sum of rows sources[starts[i]] to sources[starts[i + 1]] of g. REQUIRES: `rows` has no
// duplicates.
struct AddPickedRowsArguments {
  static constexpr Kernel kKernel = Kernel::kAddPickedRows;
  const void* g;
  float* dx;
  Storage g_storage;
  uint32_t count;  // number of elements that are written
  uint32_t row_size;
  const int64_t *rows, *starts, *sources;
};

struct AddPickedRowsBody {
  AddPickedRowsArguments add;
  AMP_BOTH void operator()(uint32_t i) const {
    const uint32_t which = i / add.row_size, within = i % add.row_size;
    float sum = 0;
    for (int64_t at = add.starts[which]; at < add.starts[which + 1]; ++at) {
      sum += LoadFloat(add.g, add.g_storage, add.sources[at] * add.row_size + within);
    }
    add.dx[add.rows[which] * add.row_size + within] = sum;
  }
};

template <typename Runner>
int Start(Runner& runner, const AddPickedRowsArguments& add) {
  return runner.ForEach(add.count, AddPickedRowsBody{add});
}

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_PICKED_ROWS_H_
