// Runs a model.
//
//   AMP_ASSIGN_OR_RETURN(auto session, amp::Session::Create("model.onnx", {}));
//   AMP_ASSIGN_OR_RETURN(std::vector<amp::Datum> outputs, session->Run({{"x", x}}));
//
// Calls of model-local functions are inlined first, and operators without a kernel run through the function body that
// ONNX gives them, where it does. 16-bit values are rounded where they are produced, whatever they are computed in, but
// for those inside a fusion (SessionOptions). A session may run in several threads at once: a run writes only to what it
// made itself. Not so with a reduction, which is of one thread. Part of the public header, tools/library/amp.h.
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
  // Errors: kUnavailable (no such file), kDataLoss (a malformed model, an operator without a kernel, which is named with
  // its version and node), kResourceExhausted (a limit), kInvalidArgument (an option that the processor has nothing for).
  static absl::StatusOr<std::unique_ptr<Session>> Create(const std::string& path, const SessionOptions& options);
  // REQUIRES: the file is valid, as LoadModel makes sure (ir/file/model_file.h).
  static absl::StatusOr<std::unique_ptr<Session>> Create(LoadedFile file, const SessionOptions& options);
  ~Session();

  // Of what Run needs; initializers that a caller may override are not among them.
  std::vector<std::string> InputNames() const;
  std::vector<std::string> OutputNames() const;

  // Outputs in the model's order. Errors: kInvalidArgument (a name that is no input; an input that some node reads and
  // that is missing, or of another type or shape than the model states; a place that is none, or does not fit the
  // output, and then no place is written), kDataLoss (shapes, attributes or indices that do not fit, with the node),
  // kResourceExhausted (memory, rounds of a loop). Inputs may lie in the memory of the session's device.
  absl::StatusOr<std::vector<Datum>> Run(const NamedDatums& inputs, const RunOptions& options = {}) const;

  // What the values of the last run take at most at the same time, as planned for the next one of these shapes; weights,
  // inputs and outputs are not among them. 0 before that, and where runs differ.
  size_t ActivationBytes() const;
  // What no plan can beat: the largest number of those bytes that are in use at once.
  size_t LargestLiveBytes() const;

  // "cpu", "cuda:0"
  std::string DeviceName() const;
  // Of the last run; constants, which are copied once, are not among them.
  CopyCounts LastCopies() const;
  // Of constants, that the device has; 0 without one.
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
  // As Run. Errors: kCancelled, besides: what the device recorded cannot be replayed, and nothing has happened.
  absl::StatusOr<std::vector<Datum>> RunOnce(const NamedDatums& inputs, const RunOptions& options) const;
  absl::Status CheckPlaces(const NamedDatums& places) const;

  std::unique_ptr<State> state_;
};

}  // namespace amp

#endif  // AMP_RUNTIME_SESSION_H_
