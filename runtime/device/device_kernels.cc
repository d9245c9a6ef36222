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
      EinsumDeviceKernels(),
      ExperimentalDeviceKernels(),
      FillDeviceKernels(),
      FoldDeviceKernels(),
      GatherGradientDeviceKernels(),
      ImageDeviceKernels(),
      IntegerDeviceKernels(),
      LossDeviceKernels(),
      MoveDeviceKernels(),
      NormGradientDeviceKernels(),
      OptimizerDeviceKernels(),
      PoolDeviceKernels(),
      PoolGradientDeviceKernels(),
      ProductDeviceKernels(),
      QuantizationDeviceKernels(),
      QuantizedDeviceKernels(),
      RankDeviceKernels(),
      RecurrentDeviceKernels(),
      ReductionDeviceKernels(),
      RowDeviceKernels(),
      SelectDeviceKernels(),
      UnaryDeviceKernels(),
      WeightGradientDeviceKernels(),
      WholeNumberDeviceKernels(),
  });
  return table.Find(domain, op_type, version);
}

}  // namespace amp
