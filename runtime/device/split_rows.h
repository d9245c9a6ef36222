// Starts kernels in which a team of threads computes a row. Few long rows are computed in parts, so that the whole
// device is busy (raw/split_rows.h).
#ifndef AMP_RUNTIME_DEVICE_SPLIT_ROWS_H_
#define AMP_RUNTIME_DEVICE_SPLIT_ROWS_H_

#include "absl/status/status.h"
#include "runtime/device/raw/rows.h"
#include "runtime/kernel/kernel.h"

namespace amp {

absl::Status StartRows(const KernelContext& context, const device::ReduceArguments& reduce);
absl::Status StartRows(const KernelContext& context, const device::SoftmaxArguments& softmax);
absl::Status StartRows(const KernelContext& context, const device::NormalizeArguments& norm);

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_SPLIT_ROWS_H_
