#include "runtime/cpu/library_kernels.h"

#include "runtime/cpu/families.h"
#include "runtime/kernel/kernel_table.h"

namespace amp {

std::vector<const KernelRow*> FindLibraryKernels(absl::string_view domain, absl::string_view op_type, int version) {
  static const auto& table = *new KernelTable(
      {LibraryWeightGradientKernels(), LibraryAttentionKernels(), LibraryGroupQueryKernels(), LibraryMultiHeadKernels(),
       LibraryMatrixKernels(), LibraryIntegerMatrixKernels(), LibraryIntegerConvolutionKernels(),
       LibraryEinsumKernels(), LibraryDeformableConvolutionKernels(), LibraryOverlapAddKernels(),
       LibraryConvolutionKernels(), LibraryConvolutionGradientKernels(), LibraryRecurrentKernels()});
  return table.Find(domain, op_type, version);
}

}  // namespace amp
