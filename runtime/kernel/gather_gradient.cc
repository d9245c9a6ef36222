#include "runtime/kernel/gather_gradient.h"

#include "ir/base/status.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

constexpr size_t kShape = 0, kIndices = 1, kG = 2;  // inputs

}  // namespace

absl::StatusOr<PickedRows> ReadPickedRows(const KernelContext& context) {
  PickedRows picked;
  AMP_ASSIGN_OR_RETURN(picked.table, context.InputInts(kShape));
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, context.InputInts(kIndices));
  const Tensor& g = context.Input(kG);
  Dims expected = context.Input(kIndices).dims();
  if (!picked.table.empty()) expected.insert(expected.end(), picked.table.begin() + 1, picked.table.end());
  if (picked.table.empty() || g.dims() != expected) {
    return ModelError("expected a gradient of rows of ", DimsText(picked.table), " that ", indices.size(),
                      " indices picked, found ", g.TypeText());
  }
  picked.row_size = static_cast<size_t>(ElementsBetween(picked.table, 1, picked.table.size()));
  const int64_t num_rows = picked.table[0];
  for (const int64_t index : indices) {
    if (index < -num_rows || index >= num_rows) {
      return ModelError("index ", index, " is out of range for ", num_rows, " rows");
    }
    picked.rows.push_back(static_cast<size_t>(index < 0 ? index + num_rows : index));
  }
  return picked;
}

}  // namespace amp
