// Moves rows of heads to where attention reads them: keys and values behind those of earlier steps, or operands that
// get a bias or are turned on the way.
#ifndef AMP_RUNTIME_CPU_HEAD_ROWS_H_
#define AMP_RUNTIME_CPU_HEAD_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "runtime/cpu/head_blocks.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// Heads in a tensor, whose rows are contiguous.
struct HeadView {
  Tensor tensor;
  size_t first = 0;  // the element where they begin
  HeadStrides strides = {};

  size_t Place(const HeadPlace& at) const {
    return first + static_cast<size_t>(at.batch * strides[kBatchAxis] + at.head * strides[kHeadAxis] +
                                       at.row * strides[kRowAxis]);
  }
};

// The heads of a tensor [batch, rows, heads * columns]; its rows have `width` elements, others than these among them.
HeadView ViewOfColumns(const Tensor& tensor, int64_t first, int64_t width, int64_t columns);
// The heads of a tensor [batch, heads, rows, columns].
HeadView ViewOfHeads(const Tensor& tensor, size_t first = 0);

struct HeadSizes {
  int64_t batch = 1, heads = 1, rows = 1, columns = 1;
};

// Changes a row of a head, as float32.
using EditRow = std::function<void(const HeadPlace& at, float* row)>;

// Copies rows, from row 0 on, to row `to_row(batch)` and those behind it. Without `edit` bits are copied. REQUIRES:
// both tensors have one type, float32, float16 or bfloat16, and the rows.
void MoveRows(const HeadView& from, HeadView& to, const HeadSizes& sizes, const std::function<int64_t(int64_t)>& to_row,
              const EditRow& edit);

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_HEAD_ROWS_H_
