#include "runtime/loops/loops_kernels.h"

#include "runtime/loops/families.h"

namespace amp {

std::vector<const KernelRow*> FindLoopsKernels(absl::string_view domain, absl::string_view op_type, int version) {
  std::vector<const KernelRow*> found;
  for (const auto& family : {UnaryLoopKernels(), BinaryLoopKernels(), CastLoopKernels(), SoftmaxLoopKernels(),
                             LayerNormLoopKernels(), NormLoopKernels(), ReductionLoopKernels()}) {
    for (const KernelRow& row : family) {
      const bool is_of_version = row.first_version <= version && version <= row.last_version;
      if (row.op_type == op_type && row.domain == domain && is_of_version) found.push_back(&row);
    }
  }
  return found;
}

}  // namespace amp
