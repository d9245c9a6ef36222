// Sums down the columns of [rows, columns] on a device, in parts of rows that are joined.
#ifndef AMP_RUNTIME_DEVICE_COLUMN_SUMS_H_
#define AMP_RUNTIME_DEVICE_COLUMN_SUMS_H_

#include "absl/status/status.h"
#include "runtime/device/raw/columns.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// y, of `columns` floats = scale * the sums. `sum`: operands, rows, columns and what is known by row; the rest is made
// here.
absl::Status StartColumnSums(const KernelContext& context, device::SumColumnsArguments sum, float scale, Tensor& y);

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_COLUMN_SUMS_H_
