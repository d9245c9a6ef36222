#include "runtime/all_kernels.h"

#include "runtime/loops/loops_kernels.h"
#include "runtime/reference/reference_kernels.h"

namespace amp {

std::vector<const KernelRow*> FindAllKernels(absl::string_view domain, absl::string_view op_type, int version) {
  std::vector<const KernelRow*> rows = FindLoopsKernels(domain, op_type, version);
  for (const KernelRow* row : FindReferenceKernels(domain, op_type, version)) rows.push_back(row);
  return rows;
}

}  // namespace amp
