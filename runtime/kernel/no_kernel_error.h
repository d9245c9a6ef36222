// Errors of a run that are about this program's kernels, not about the model or its inputs.
#ifndef AMP_RUNTIME_KERNEL_NO_KERNEL_ERROR_H_
#define AMP_RUNTIME_KERNEL_NO_KERNEL_ERROR_H_

#include <string>

#include "absl/status/status.h"
#include "ir/base/dtype.h"

namespace amp {

// kDataLoss, of which IsNoKernelError stays true whatever is put ahead of the message.
absl::Status NoKernelError(const std::string& message);
// "no kernel for float8e5m2".
absl::Status NoKernelFor(DType dtype);
bool IsNoKernelError(const absl::Status& status);

// "add (Add-14): " and the message, with the status' payloads.
absl::Status WithPrefix(const std::string& prefix, const absl::Status& status);

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_NO_KERNEL_ERROR_H_
