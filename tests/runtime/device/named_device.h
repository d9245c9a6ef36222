// Devices by the names that flags of test programs take.
#ifndef AMP_TESTS_RUNTIME_DEVICE_NAMED_DEVICE_H_
#define AMP_TESTS_RUNTIME_DEVICE_NAMED_DEVICE_H_

#include <memory>
#include <string>

#include "ir/base/status.h"
#include "runtime/device/open_device.h"
#include "runtime/plan/program.h"
#include "runtime/session.h"
#include "tests/runtime/device/host_memory_double.h"

namespace amp {

// "cpu": null; "double": the test double; "cuda": the first GPU. Errors: kInvalidArgument, those of OpenCudaDevice.
inline absl::StatusOr<std::shared_ptr<Accelerator>> OpenNamedDevice(const std::string& name) {
  if (name == "cpu") return std::shared_ptr<Accelerator>();
  if (name == "double") return OpenHostMemoryDouble();
  if (name == "cuda") return OpenCudaDevice(0);
  return UsageError("--device: expected cpu, double or cuda, found '", Escaped(name), "'");
}

// How many instructions a kernel of the device ran, in the last run of each.
inline int CountOnDevice(const Session& session) {
  int count = 0;
  for (const auto& block : session.program().blocks) {
    for (const auto& instruction : block) {
      const absl::MutexLock lock(&instruction.site->mutex);
      if (instruction.site->row != nullptr && instruction.site->row->runs_on_device) ++count;
    }
  }
  return count;
}

}  // namespace amp

#endif  // AMP_TESTS_RUNTIME_DEVICE_NAMED_DEVICE_H_
