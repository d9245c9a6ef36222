// Col2Im: blocks of an image, as the columns of a matrix, added up to the image.
//
//   x [N, C * block size, places]     y [N, C, image]
#ifndef AMP_RUNTIME_FORMS_COLUMNS_H_
#define AMP_RUNTIME_FORMS_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "runtime/kernel/kernel.h"

namespace amp {

struct ColumnsForm {
  Dims image, block, count;  // per spatial axis; `count`: places that the block takes
  std::vector<int64_t> strides, dilations, pads_before;
  Dims dims;  // of the output
  // Elements of one channel, in the output and in the input.
  size_t image_size = 0, columns_size = 0;
};

// Errors: shapes and attributes that do not fit each other.
absl::StatusOr<ColumnsForm> ReadColumns(const KernelContext& context);

// Elements [from, from + count) of a channel's columns belong to its pixels to, to + stride, to + 2 stride ...
// Elements in the padding are in no row.
struct ColumnsRow {
  size_t from, to, count;
};
void ForEachRow(const ColumnsForm& form, absl::FunctionRef<void(const ColumnsRow&)> visit);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_COLUMNS_H_
