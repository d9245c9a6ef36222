// Finds the device kernels that update the weights of several nodes at once (runtime/kernel/optimizer_unit.h).
#ifndef AMP_RUNTIME_DEVICE_OPTIMIZER_UNITS_H_
#define AMP_RUNTIME_DEVICE_OPTIMIZER_UNITS_H_

#include "absl/strings/string_view.h"
#include "runtime/kernel/optimizer_unit.h"

namespace amp {

// Returns null for operators that are no optimizer step.
const OptimizerUnit* FindOptimizerUnit(absl::string_view domain, absl::string_view op_type);

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_OPTIMIZER_UNITS_H_
