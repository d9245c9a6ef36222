// Starts kernels whose rows are a team's each; where there are few, and long ones, in parts, so that all of a device has
// something to do (raw/split_rows.h).
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
