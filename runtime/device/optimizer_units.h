// The kernels of a device that step the weights of several nodes at once (runtime/kernel/optimizer_unit.h).
#ifndef AMP_RUNTIME_DEVICE_OPTIMIZER_UNITS_H_
#define AMP_RUNTIME_DEVICE_OPTIMIZER_UNITS_H_

#include "absl/strings/string_view.h"
#include "runtime/kernel/optimizer_unit.h"

namespace amp {

// Null for what is no step of an optimizer.
const OptimizerUnit* FindOptimizerUnit(absl::string_view domain, absl::string_view op_type);

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_OPTIMIZER_UNITS_H_
