#include "runtime/device/column_sums.h"

#include <algorithm>

#include "ir/base/status.h"
#include "runtime/device/storage.h"

namespace amp {

absl::Status StartColumnSums(const KernelContext& context, device::SumColumnsArguments sum, float scale, Tensor& y) {
  constexpr uint32_t kMostParts =
      128;  // enough parts to keep a device busy, few enough for one thread per column to combine
  sum.part_size = (sum.rows + kMostParts - 1) / kMostParts;
  sum.parts = (sum.rows + sum.part_size - 1) / sum.part_size;
  AMP_ASSIGN_OR_RETURN(Tensor sums, context.MakeScratch(DType::kFloat32, {sum.parts, sum.columns}));
  sum.sums = static_cast<float*>(sums.mutable_data());
  Accelerator& device = *context.resources().device;
  device.Start(sum);
  device.Start(device::JoinColumnsArguments{.sums = sum.sums,
                                            .y = y.mutable_data(),
                                            .y_storage = StorageOf(y.dtype()),
                                            .columns = sum.columns,
                                            .parts = sum.parts,
                                            .scale = scale});
  return absl::OkStatus();
}

}  // namespace amp
