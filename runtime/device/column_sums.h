// Sums the columns of [rows, columns] on a device, in parts of rows that are then combined.
#ifndef AMP_RUNTIME_DEVICE_COLUMN_SUMS_H_
#define AMP_RUNTIME_DEVICE_COLUMN_SUMS_H_

#include "absl/status/status.h"
#include "runtime/device/raw/columns.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// Computes y[column] = scale * sum, for `columns` floats. `sum`: operands, rows, columns, and mean and inverse
// deviation by row, if any; the function sets the other members.
absl::Status StartColumnSums(const KernelContext& context, device::SumColumnsArguments sum, float scale, Tensor& y);

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_COLUMN_SUMS_H_
