// The sessions of the C interface.
#ifndef AMP_TOOLS_C_SESSION_H_
#define AMP_TOOLS_C_SESSION_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "runtime/session.h"
#include "tools/c/amp_c.h"
#include "tools/c/context.h"
#include "tools/c/options_json.h"
#include "tools/program/tuning_file.h"

namespace amp {

// The device that options name, opened; its tuning file is written when this ends.
class OpenedDevice {
 public:
  // Opens the device into `choices.options`. `model`: a path, or "" for a model in memory, which --device auto takes to
  // be of float16. Errors: those of OpenFlaggedDevice and of TuningFile::Open.
  static absl::StatusOr<std::unique_ptr<OpenedDevice>> Open(SessionChoices& choices, const std::string& model);
  ~OpenedDevice();
  OpenedDevice(const OpenedDevice&) = delete;
  OpenedDevice& operator=(const OpenedDevice&) = delete;

 private:
  OpenedDevice() = default;

  std::shared_ptr<Accelerator> device_;
  std::unique_ptr<TuningFile> tuning_;
};

// A question before each node of a run: whether the context's callback lets it go on.
class CancelGate {
 public:
  explicit CancelGate(AmpContext& context);
  const NodeGate* get() const { return gate_ ? &gate_ : nullptr; }  // null where there is no callback

 private:
  NodeGate gate_;
};

// [{"name", "kind", "dtype", "type", "shape"}] of those values for which `shows` holds.
nlohmann::ordered_json DescribeValues(const Session& session, const std::vector<ValueId>& values,
                                      const std::function<bool(const std::string&)>& shows);

}  // namespace amp

struct AmpSession {
  std::unique_ptr<amp::OpenedDevice> device;
  std::unique_ptr<amp::Session> session;
};

#endif  // AMP_TOOLS_C_SESSION_H_
