#include "runtime/plan/all_kernels.h"

#include "runtime/cpu/library_kernels.h"
#include "runtime/loops/loops_kernels.h"
#include "runtime/reference/reference_kernels.h"

namespace amp {

std::vector<const KernelRow*> FindAllKernels(absl::string_view domain, absl::string_view op_type, int version) {
  std::vector<const KernelRow*> rows;
  for (const auto find : {FindFewRowsKernels, FindLibraryKernels, FindLoopsKernels, FindReferenceKernels}) {
    for (const KernelRow* row : find(domain, op_type, version)) rows.push_back(row);
  }
  return rows;
}

std::vector<const KernelRow*> FindOwnKernels(absl::string_view domain, absl::string_view op_type, int version) {
  std::vector<const KernelRow*> rows;
  for (const auto find : {FindFewRowsKernels, FindLoopsKernels, FindReferenceKernels}) {
    for (const KernelRow* row : find(domain, op_type, version)) rows.push_back(row);
  }
  return rows;
}

}  // namespace amp
