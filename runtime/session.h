// Runs a model.
//
//   AMP_ASSIGN_OR_RETURN(auto session, amp::Session::Create("model.onnx", {}));
//   AMP_ASSIGN_OR_RETURN(std::vector<amp::Datum> outputs, session->Run({{"x", x}}));
//
// Calls of model-local functions are inlined first. An operator without a kernel runs through the function body that
// ONNX gives it, if there is one. Every 16-bit value is rounded when it is produced, whatever type it is computed in,
// except for values inside a fusion (SessionOptions). A session may run in several threads at once, because a run only
// writes to memory that it made; a session with ranks runs in one thread. Part of the public header,
// tools/library/amp.h.
#ifndef AMP_RUNTIME_SESSION_H_
#define AMP_RUNTIME_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernel/tensor.h"
#include "runtime/plan/session_options.h"
#include "runtime/run/run_options.h"

namespace amp {

struct LoadedFile;
struct Program;
class Model;

// `options` with nothing computed together: every value is rounded where the model has it.
SessionOptions OneByOne(SessionOptions options = {});

class Session {
 public:
  // Errors: kUnavailable (no such file), kDataLoss (a malformed model; an operator without a kernel, with its version
  // and node), kResourceExhausted (a limit), kInvalidArgument (an option that this processor does not support).
  static absl::StatusOr<std::unique_ptr<Session>> Create(const std::string& path, const SessionOptions& options);
  // REQUIRES: the file is valid, as LoadModel makes sure (ir/file/model_file.h).
  static absl::StatusOr<std::unique_ptr<Session>> Create(LoadedFile file, const SessionOptions& options);
  ~Session();

  // The inputs that Run needs. Initializers that a caller may override are not among them.
  std::vector<std::string> InputNames() const;
  std::vector<std::string> OutputNames() const;

  // Outputs in the model's order. Errors: kInvalidArgument (a name that is no input; an input that some node reads and
  // that is missing, or of another type or shape than the model states; an output buffer that fits no output: no
  // buffer is written then), kDataLoss (shapes, attributes or indices that do not fit, with the node),
  // kResourceExhausted (memory, rounds of a loop). Inputs may lie in the memory of the session's device.
  absl::StatusOr<std::vector<Datum>> Run(const NamedDatums& inputs, const RunOptions& options = {}) const;
  // Takes inputs that are given away: an output may take the elements of one that nobody else has, as the cache of
  // GroupQueryAttention does. Outputs and errors are those of the other.
  absl::StatusOr<std::vector<Datum>> Run(NamedDatums&& inputs, const RunOptions& options = {}) const;

  // Bytes that the plan for the next run of the last run's shapes takes for values other than weights, inputs and
  // outputs. 0 before the first run, and if runs of one shape differ.
  size_t ActivationBytes() const;
  // The largest number of those bytes in use at one time. No plan takes less.
  size_t LargestLiveBytes() const;

  // "cpu", "cuda:0"
  std::string DeviceName() const;
  // The copies of the last run to and from the device. Constants, which are copied once, are not among them.
  CopyCounts LastCopies() const;
  // Bytes of the constants on the device; 0 without a device.
  int64_t DeviceConstantBytes() const;

  // ---- internal: the model as it is run, and the ids of the above
  const Model& model() const;
  const Program& program() const;
  const std::vector<ValueId>& inputs() const;
  const std::vector<ValueId>& outputs() const;

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  absl::Status CheckInputs(const NamedDatums& inputs) const;
  absl::Status CheckRun(const NamedDatums& inputs, const RunOptions& options) const;
  // Inputs in the model's order.
  absl::StatusOr<std::vector<Datum>> RunOrdered(std::vector<Datum> inputs, const RunOptions& options) const;
  // Errors: those of Run; kCancelled: what the device recorded cannot be replayed, and nothing has happened.
  absl::StatusOr<std::vector<Datum>> RunOnce(std::vector<Datum> inputs, const RunOptions& options) const;
  absl::Status CheckOutputBuffers(const NamedDatums& places) const;

  std::unique_ptr<State> state_;
};

}  // namespace amp

#endif  // AMP_RUNTIME_SESSION_H_
