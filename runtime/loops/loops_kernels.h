// Kernels made of vectorised loops: what is bound by memory and needs no library.
#ifndef AMP_RUNTIME_LOOPS_LOOPS_KERNELS_H_
#define AMP_RUNTIME_LOOPS_LOOPS_KERNELS_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// Products of a few rows, which are faster than a library's; perhaps none.
std::vector<const KernelRow*> FindFewRowsKernels(absl::string_view domain, absl::string_view op_type, int version);

// Best first; perhaps none. `domain`: "" for ai.onnx.
std::vector<const KernelRow*> FindLoopsKernels(absl::string_view domain, absl::string_view op_type, int version);

}  // namespace amp

#endif  // AMP_RUNTIME_LOOPS_LOOPS_KERNELS_H_
