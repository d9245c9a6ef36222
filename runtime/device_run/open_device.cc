#include "runtime/device_run/open_device.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "runtime/device/accelerator.h"
#include "runtime/hardware/open_shared_object.h"

namespace amp {
namespace {

// Below this compute capability no kernels are built; above those that are built, the driver compiles PTX.
constexpr ComputeCapability kLeastCapability = {AMP_LEAST_CAPABILITY_MAJOR, AMP_LEAST_CAPABILITY_MINOR};
// The CUDA version of this build, in the driver's numbering: 13000 for 13.0; 0: built without CUDA. The driver must
// support at least the same major version.
constexpr int kBuiltWith = AMP_CUDA_VERSION_NUMBER;

}  // namespace

absl::Status CheckCudaDevice(const Hardware& hardware, int ordinal) {
  const bool has_driver = hardware.cuda_driver_version.has_value();
  if (has_driver && *hardware.cuda_driver_version / 1000 < kBuiltWith / 1000) {
    return DeviceError("the NVIDIA driver knows CUDA up to ", CudaVersionText(*hardware.cuda_driver_version),
                       ", and this was built with ", CudaVersionText(kBuiltWith), ": a newer driver is needed");
  }
  if (hardware.gpus.empty()) return DeviceError(hardware.no_gpu_why);
  const auto found_gpu =
      std::find_if(hardware.gpus.begin(), hardware.gpus.end(), [&](const Gpu& one) { return one.ordinal == ordinal; });
  if (found_gpu == hardware.gpus.end()) {
    return DeviceError(
        "expected a GPU of number ",
        absl::StrJoin(hardware.gpus, ", ", [](std::string* out, const Gpu& one) { absl::StrAppend(out, one.ordinal); }),
        ", found none of number ", ordinal);
  }
  const Gpu& gpu = *found_gpu;
  if (!gpu.capability || (kBuiltWith != 0 && *gpu.capability < kLeastCapability)) {
    const std::string found = gpu.capability ? CapabilityText(*gpu.capability) : "unknown";
    return DeviceError(Escaped(gpu.name), " has compute capability ", found, "; expected ",
                       CapabilityText(kLeastCapability), " or more");
  }
  if (kBuiltWith == 0) return DeviceError("built without CUDA (CMake's AMP_WITH_CUDA)");
  return absl::OkStatus();
}

Hardware UsableHardware(Hardware hardware) {
  std::vector<Gpu> usable;
  for (const Gpu& gpu : hardware.gpus) {
    const absl::Status status = CheckCudaDevice(hardware, gpu.ordinal);
    if (status.ok()) {
      usable.push_back(gpu);
    } else if (hardware.no_gpu_why.empty()) {
      hardware.no_gpu_why = std::string(status.message());
    }
  }
  if (!usable.empty()) hardware.no_gpu_why.clear();
  hardware.gpus = std::move(usable);
  return hardware;
}

absl::StatusOr<std::shared_ptr<Accelerator>> OpenCudaDevice(int ordinal) {
  AMP_RETURN_IF_ERROR(CheckCudaDevice(DetectHardware(), ordinal));
  const SharedObject object = OpenSharedObject("libamp_cuda.so", "AmpCudaOpen");
  if (object.entry == nullptr) return DeviceError("the kernels cannot be opened: ", Escaped(object.why_not));
  device::DeviceTable table;
  char why_not[device::kMaxWhyNot] = "";
  const int error = reinterpret_cast<decltype(&AmpCudaOpen)>(object.entry)(ordinal, &table, why_not);
  if (error == device::kOutOfMemory) return LimitError(Escaped(why_not));
  if (error != 0) return DeviceError(Escaped(why_not));
  return std::make_shared<Accelerator>(absl::StrCat("cuda:", ordinal), table);
}

}  // namespace amp
