// Kernels that a library computes: what takes more arithmetic than memory.
#ifndef AMP_RUNTIME_CPU_LIBRARY_KERNELS_H_
#define AMP_RUNTIME_CPU_LIBRARY_KERNELS_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// Best first; perhaps none. `domain`: "" for ai.onnx.
std::vector<const KernelRow*> FindLibraryKernels(absl::string_view domain, absl::string_view op_type, int version);

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_LIBRARY_KERNELS_H_
