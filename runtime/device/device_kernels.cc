#include "runtime/device/device_kernels.h"

#include "runtime/device/families.h"
#include "runtime/kernel/kernel_table.h"

namespace amp {

std::vector<const KernelRow*> FindDeviceKernels(absl::string_view domain, absl::string_view op_type, int version) {
  static const KernelTable& table = *new KernelTable({
      LibraryConvolutionDeviceKernels(),
      AttentionDeviceKernels(),
      BatchNormDeviceKernels(),
      BinaryDeviceKernels(),
      ConvolutionDeviceKernels(),
      FoldDeviceKernels(),
      GatherGradientDeviceKernels(),
      ImageDeviceKernels(),
      LossDeviceKernels(),
      MoveDeviceKernels(),
      NormGradientDeviceKernels(),
      OptimizerDeviceKernels(),
      PoolDeviceKernels(),
      PoolGradientDeviceKernels(),
      ProductDeviceKernels(),
      RecurrentDeviceKernels(),
      ReductionDeviceKernels(),
      RowDeviceKernels(),
      SelectDeviceKernels(),
      UnaryDeviceKernels(),
      WeightGradientDeviceKernels(),
  });
  return table.Find(domain, op_type, version);
}

}  // namespace amp
