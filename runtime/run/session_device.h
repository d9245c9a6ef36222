// What a session with a device has of it: the only way from a session to runtime/device_run.
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

  // ---- the plan
  // All kernels, the device's before those of the processor.
  virtual FindKernels kernels() const = 0;
  virtual FusionRules fusion_rules() const = 0;

  // ---- runs
  // Whether the tensor's elements lie in the device's memory.
  virtual bool Has(const Tensor& tensor) const = 0;
  // The outputs of the main graph. Errors: those of Session::Run; kCancelled: what the device recorded cannot be replayed,
  // and nothing has happened: the run has to begin once more.
  virtual absl::StatusOr<std::vector<Datum>> Run(MainCall call) = 0;
  // Of the last run that succeeded.
  virtual CopyCounts LastCopies() const = 0;
  virtual size_t ActivationBytes() const = 0;
  virtual size_t LargestLiveBytes() const = 0;
  virtual int64_t ConstantBytes() const = 0;

  // Gives back the memory of runs, and what `others` let go, while nothing is recorded on the device. Nothing runs after
  // this.
  virtual void Release(absl::FunctionRef<void()> others) = 0;
};

// Of the options, `device` and `replay` matter. REQUIRES: options.device is not null.
std::unique_ptr<SessionDevice> MakeSessionDevice(const SessionOptions& options);

}  // namespace amp

#endif  // AMP_RUNTIME_RUN_SESSION_DEVICE_H_
