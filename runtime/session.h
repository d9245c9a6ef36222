// Runs a model.
//
//   AMP_ASSIGN_OR_RETURN(auto session, amp::Session::Create("model.onnx", {}));
//   AMP_ASSIGN_OR_RETURN(std::vector<amp::Datum> outputs, session->Run({{"x", x}}));
//
// Calls of model-local functions are inlined first, and operators without a kernel run through the function body that
// ONNX gives them, where it does. 16-bit values are rounded where they are produced, whatever they are computed in, but
// for those inside a fusion (SessionOptions). A session may run in several threads at once: a run writes only to what it
// made itself. Not so with a reduction, which is of one thread. Part of the public header, tools/amp.h.
#ifndef AMP_RUNTIME_SESSION_H_
#define AMP_RUNTIME_SESSION_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ir/base/ids.h"
#include "ir/base/limits.h"
#include "runtime/kernel/tensor.h"

namespace amp {

class Accelerator;
class Reduction;
struct KernelRow;
struct LoadedFile;
struct Program;
class Model;
using ValueId = Id<struct ValueTag>;

// The kernels for a version of an operator, best first; the last one takes everything.
using FindKernels = std::vector<const KernelRow*> (*)(absl::string_view domain, absl::string_view op_type, int version);
// Is told every value that a run computes or is given, as soon as it is; the id is the session's model's.
using ValueObserver = std::function<void(ValueId, const Datum&)>;

// When an instruction of a run began, on a clock of any origin, and how long it took.
struct InstructionTiming {
  Id<struct NodeTag> node;
  std::chrono::nanoseconds start, duration;
};

using NamedDatums = absl::flat_hash_map<std::string, Datum>;

// What a run does besides.
struct RunOptions {
  const ValueObserver* observer = nullptr;
  std::vector<InstructionTiming>* timings = nullptr;  // appended to
  std::optional<uint64_t> seed = std::nullopt;        // of this run, instead of the session's
  // By output: a tensor in the memory of the session's device. The output is copied into it, at the end of the run, and
  // given as that tensor, so that it never goes to the processor. Inputs may lie in the same tensors: a step of training
  // writes the next state where the present one is. Kernels that can write there at once, where nobody reads the input any
  // more: then a run that fails behind them, which its message says, has lost the input.
  const NamedDatums* places = nullptr;
  // Outputs with a place that are given where the processor sees them, all the same.
  const absl::flat_hash_set<std::string>* shown = nullptr;
};

struct SessionOptions {
  Limits limits;
  int64_t max_loop_iterations = 1'000'000;
  uint64_t seed = 0;  // of nodes that draw random numbers and state no seed
  // What is computed together; values inside are then not rounded, but for those of chains.
  bool fold_constants = true, fold_batch_norms = true;
  bool fuse_epilogues = true, fuse_norms = true, fuse_attention = true, fuse_chains = true;
  bool fuse_training = true;      // functions of domain ai.amp that have a kernel are not inlined
  int threads = 0;                // 0: as many as the process may use
  bool allow_bfloat16 = false;    // to compute float16 in bfloat16, where the processor has arithmetic for that alone
  bool flush_subnormals = false;  // to compute with zeros instead of subnormal numbers, on which processors can be slow
  bool allow_tf32 = false;        // to compute float32 products and convolutions on a device in TF32
  bool strict =
      false;  // no kernel that widens 16-bit values to float64: an error, of Create where types tell it, or of Run
  Reduction* reduction = nullptr;  // over the ranks of a data-parallel run; must outlive the session; null: one rank
  bool replay = true;  // a device does again what it has done with these shapes, without being asked for each kernel
  // Runs what it has kernels for, all else the processor (runtime/device/open_device.h); null: the processor alone.
  std::shared_ptr<Accelerator> device = nullptr;
  FindKernels find_kernels = nullptr;  // internal; null: all that there are
};

// What a run copied between the processor's memory and a device's: to it, and from it.
struct CopyCounts {
  int64_t in = 0, in_bytes = 0, out = 0, out_bytes = 0;
};

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
  explicit Session(std::unique_ptr<const State> state);
  absl::Status CheckInputs(const NamedDatums& inputs) const;
  // As Run. Errors: kCancelled, besides: what the device recorded cannot be replayed, and nothing has happened.
  absl::StatusOr<std::vector<Datum>> RunOnce(const NamedDatums& inputs, const RunOptions& options) const;
  absl::Status CheckPlaces(const NamedDatums& places) const;

  std::unique_ptr<const State> state_;
};

}  // namespace amp

#endif  // AMP_RUNTIME_SESSION_H_
