// Finds the device kernels that update the weights of several nodes at once (runtime/kernel/fused_optimizer.h).
#ifndef AMP_RUNTIME_DEVICE_FUSED_OPTIMIZERS_H_
#define AMP_RUNTIME_DEVICE_FUSED_OPTIMIZERS_H_

#include "absl/strings/string_view.h"
#include "runtime/kernel/fused_optimizer.h"

namespace amp {

// Returns null for operators that are no optimizer step.
const FusedOptimizer* FindFusedOptimizer(absl::string_view domain, absl::string_view op_type);

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_FUSED_OPTIMIZERS_H_
