#include "runtime/device/device_kernels.h"

#include "runtime/device/families.h"
#include "runtime/kernel/kernel_table.h"

namespace amp {

std::vector<const KernelRow*> FindDeviceKernels(absl::string_view domain, absl::string_view op_type, int version) {
  static const KernelTable& table = *new KernelTable({
      LibraryConvolutionDeviceKernels(),
      AttentionDeviceKernels(),
      BinaryDeviceKernels(),
      ConvolutionDeviceKernels(),
      EinsumDeviceKernels(),
      ExperimentalDeviceKernels(),
      FillDeviceKernels(),
      FoldDeviceKernels(),
      ImageDeviceKernels(),
      IntegerDeviceKernels(),
      MoveDeviceKernels(),
      PoolDeviceKernels(),
      ProductDeviceKernels(),
      QuantizationDeviceKernels(),
      QuantizedDeviceKernels(),
      RecurrentDeviceKernels(),
      ReductionDeviceKernels(),
      RowDeviceKernels(),
      SelectDeviceKernels(),
      UnaryDeviceKernels(),
      WholeNumberDeviceKernels(),
  });
  return table.Find(domain, op_type, version);
}

}  // namespace amp
