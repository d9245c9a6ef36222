// All kernels of the processor, of every family.
#ifndef AMP_RUNTIME_PLAN_ALL_KERNELS_H_
#define AMP_RUNTIME_PLAN_ALL_KERNELS_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// Returns the kernels of an operator's version: the best first, the reference last; none if no kernel supports that
// version. `domain`: "" for ai.onnx.
std::vector<const KernelRow*> FindAllKernels(absl::string_view domain, absl::string_view op_type, int version);

// Without those of oneDNN, which take milliseconds to be made: for models that are run once and are small.
std::vector<const KernelRow*> FindOwnKernels(absl::string_view domain, absl::string_view op_type, int version);

}  // namespace amp

#endif  // AMP_RUNTIME_PLAN_ALL_KERNELS_H_
