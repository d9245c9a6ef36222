#include "runtime/device_run/find_kernels.h"

#include "runtime/device/device_kernels.h"
#include "runtime/plan/all_kernels.h"

namespace amp {

std::vector<const KernelRow*> FindAllKernelsAndDevices(absl::string_view domain, absl::string_view op_type,
                                                       int version) {
  std::vector<const KernelRow*> rows = FindDeviceKernels(domain, op_type, version);
  const std::vector<const KernelRow*> others = FindAllKernels(domain, op_type, version);
  rows.insert(rows.end(), others.begin(), others.end());
  return rows;
}

}  // namespace amp
