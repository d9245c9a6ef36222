// A session's interface to its device: the only way from a session to runtime/device_run.
#ifndef AMP_RUNTIME_RUN_SESSION_DEVICE_H_
#define AMP_RUNTIME_RUN_SESSION_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/plan/fusion_rules.h"
#include "runtime/plan/session_options.h"
#include "runtime/run/run_main_graph.h"
#include "runtime/run/run_options.h"

namespace amp {

class SessionDevice {
 public:
  virtual ~SessionDevice() = default;

  virtual std::string name() const = 0;

  // ---- planning
  // Finds all kernels, the device's before the processor's.
  virtual FindKernels kernels() const = 0;
  virtual FusionRules fusion_rules() const = 0;

  // ---- running
  // Whether the tensor's elements lie in the device's memory.
  virtual bool Has(const Tensor& tensor) const = 0;
  // Runs the main graph and returns its outputs. Errors: those of Session::Run; kCancelled if the captured graph cannot
  // be replayed: nothing has happened yet, and the caller must run again.
  virtual absl::StatusOr<std::vector<Datum>> Run(MainCall call) = 0;
  // Figures of the last run that succeeded: copies, and bytes of memory.
  virtual CopyCounts LastCopies() const = 0;
  virtual size_t ActivationBytes() const = 0;
  virtual size_t LargestLiveBytes() const = 0;
  virtual int64_t ConstantBytes() const = 0;

  // Frees the memory of runs, and calls `others` to free more, at a time when nothing is being captured on the device.
  // Nothing may run after this.
  virtual void Release(absl::FunctionRef<void()> others) = 0;
};

// Uses `device` and `replay` of the options. REQUIRES: options.device is not null.
std::unique_ptr<SessionDevice> MakeSessionDevice(const SessionOptions& options);

}  // namespace amp

#endif  // AMP_RUNTIME_RUN_SESSION_DEVICE_H_
