// All kernels but those of products of a few rows, which come before a library's.
#ifndef AMP_TESTS_RUNTIME_LIBRARY_KERNELS_FIRST_H_
#define AMP_TESTS_RUNTIME_LIBRARY_KERNELS_FIRST_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/plan/all_kernels.h"

namespace amp {

inline std::vector<const KernelRow*> FindLibraryKernelsFirst(absl::string_view domain, absl::string_view op_type,
                                                             int version) {
  std::vector<const KernelRow*> rows = FindAllKernels(domain, op_type, version);
  std::erase_if(rows, [](const KernelRow* row) { return row->family == "few-rows"; });
  return rows;
}

}  // namespace amp

#endif  // AMP_TESTS_RUNTIME_LIBRARY_KERNELS_FIRST_H_
