// Devices by the names that flags of test programs take.
#ifndef AMP_TESTS_RUNTIME_DEVICE_NAMED_DEVICE_H_
#define AMP_TESTS_RUNTIME_DEVICE_NAMED_DEVICE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/device_run/open_device.h"
#include "runtime/plan/program.h"
#include "runtime/session.h"

namespace amp {

// "cpu": null; "double": the test double; "cuda": the first GPU. Errors: kInvalidArgument, those of
// OpenCudaDevice; of a build without devices, all but "cpu".
absl::StatusOr<std::shared_ptr<Accelerator>> OpenNamedDevice(const std::string& name);

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
