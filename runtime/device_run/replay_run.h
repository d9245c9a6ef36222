// Stretches of runs that a device does again from a recording, without being asked for each kernel.
//
//   run 1   plain; noted are the instructions that start kernels on the device and do nothing else
//   run 2   such instructions in a row are recorded, and replayed
//   run 3   x copied in   [MatMul ... Softmax]   y copied out         one replay, and no instruction in between is looked at
//
// A recording reads and writes where its values lay. It holds as long as inputs have the shapes, the arena has the plan,
// values read by the stretch and places of its outputs have the addresses and shapes that they had, and nobody else reads
// what it writes over; otherwise instructions run, and are recorded anew. What the processor computes inside a stretch is
// made of shapes and constants alone, so that it is what it was.
#ifndef AMP_RUNTIME_DEVICE_RUN_REPLAY_RUN_H_
#define AMP_RUNTIME_DEVICE_RUN_REPLAY_RUN_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/device/accelerator.h"
#include "runtime/device_run/device_frame.h"
#include "runtime/plan/program.h"
#include "runtime/run/arena.h"

namespace amp {

// What is known of runs with one arena and inputs of one shape. For one run at a time.
class ReplayRun {
 public:
  ReplayRun(const Model& model, const Program& program, Accelerator& device, Arena& arena)
      : model_(model), program_(program), device_(device), arena_(arena), is_fixed_(model.num_values(), false) {}

  // Whether the run that begins will record, so that nobody else may use the device.
  bool WillRecord() const;

  // ---- by the execution of a run, from Start to End, around each instruction of the main graph
  // `places`: of outputs, RunOptions::places; null: there are none.
  void Start(const NamedDatums* places);
  // The instruction behind the stretch that begins at `at` and has been replayed; `at` itself where none has.
  absl::StatusOr<size_t> Replay(size_t at, DeviceFrame& frame);
  // Errors: kCancelled: what was recorded cannot be replayed, and has not happened. The run has to begin once more.
  absl::Status Before(size_t at, const DeviceFrame& frame);
  absl::Status Behind(size_t at, bool is_clean, const DeviceFrame& frame);
  // Whether what is recorded behind the instruction may turn out not to be replayed, so that the run begins once more.
  bool MayBeginAgainBehind(size_t at) const;
  // Whether a kernel that is recorded now is only written down, and happens when the stretch is launched.
  bool IsRecording() const { return recorded_ != nullptr; }
  // Such a kernel writes over what it reads. REQUIRES: IsRecording.
  void NoteOverwriting() { recorded_->overwrites = true; }
  // Whether a stretch with such a kernel has been launched in this run, or in the last one.
  bool HasOverwritten() const { return has_overwritten_; }
  // Whatever came of it.
  void End(const absl::Status& status);

  // ---- by the instructions of all graphs, while notes are taken
  bool TakesNotes() const { return mode_ == Mode::kNotes; }
  // Whether the processor sees the same elements in every run with inputs of these shapes.
  bool IsFixed(ValueId value, const Datum& datum) const;
  void SetFixed(ValueId value, bool is_fixed) { is_fixed_[value] = is_fixed; }

 private:
  enum class Mode { kOff, kNotes, kReplays };  // kReplays: records where there is no recording
  // Where the device reads a value from, and of which shape.
  struct Source {
    ValueId value;
    const void* data;
    DType dtype;
    Layout layout;
    Dims dims;
    bool IsWhere(const Tensor& tensor) const;
  };
  // An output of the model, where it was to go, and how many values and places began there ahead of the stretch:
  // kernels write there at once where nobody else has it.
  struct Target {
    ValueId output;
    std::optional<Source> place;
    int holders;
  };
  // A value that is there behind a stretch: the processor's, in another's memory, or in a block of the arena.
  struct Result {
    ValueId value;
    DType dtype;
    Layout layout;
    Dims dims;
    std::optional<Datum> on_host;
    ValueId lies_in = kNone;
    size_t block = 0;
  };
  // A value that the model has a constant for, and whether that was it, and not another one of a caller's.
  struct Default {
    ValueId value;
    bool is_own;
  };
  struct Stretch {
    size_t first, end;  // instructions of the main graph
    std::unique_ptr<Recording> recording;
    Arena::Position before, after;
    std::vector<Source> sources;
    std::vector<Default> defaults;
    std::vector<Result> results;
    std::vector<Target> targets;
    bool overwrites;  // what it reads, where outputs go
  };

  const std::vector<Instruction>& instructions() const { return program_.blocks[kMainGraph]; }
  Stretch* StretchFrom(size_t at);
  void FindStretches();
  bool Holds(const Stretch& stretch, const DeviceFrame& frame) const;
  bool HasTargets(const Stretch& stretch, const DeviceFrame& frame) const;
  absl::Status Launch(const Stretch& stretch);
  // Null where the output goes to the processor.
  const Tensor* PlaceOf(ValueId output) const;
  absl::flat_hash_map<const void*, int> CountHolders(const DeviceFrame& frame) const;
  void NoteSources(Stretch& stretch, const DeviceFrame& frame) const;
  void NoteTargets(Stretch& stretch, const DeviceFrame& frame) const;
  bool HasOwnConstant(ValueId value, const DeviceFrame& frame) const;
  absl::StatusOr<Result> ResultOf(const Stretch& stretch, ValueId value, const Datum& datum) const;
  absl::Status NoteResults(Stretch& stretch, const DeviceFrame& frame) const;
  absl::Status SetResults(const Stretch& stretch, DeviceFrame& frame);

  const Model& model_;
  const Program& program_;
  Accelerator& device_;
  Arena& arena_;
  Mode mode_ = Mode::kNotes;
  std::vector<bool> is_clean_;  // by instruction
  IdVector<ValueId, bool> is_fixed_;
  std::vector<Stretch> stretches_;
  bool may_record_ = false;      // in this run
  Stretch* recorded_ = nullptr;  // under way
  uint64_t number_ = 0;          // of the arena's plan that recordings are for
  int num_recordings_ = 0;
  const NamedDatums* places_ = nullptr;  // of outputs, in this run
  bool has_overwritten_ = false;
};

// Those of a session, by arena and shapes of the inputs, the last few of each.
class ReplayRuns {
 public:
  // REQUIRES: the arena is that of the run alone, and outlives this. Good until the arena is asked for with other shapes.
  ReplayRun& Of(const Model& model, const Program& program, Accelerator& device, Arena& arena,
                const std::vector<int64_t>& key);

 private:
  struct Kept {
    std::vector<int64_t> key;
    std::unique_ptr<ReplayRun> run;
  };
  absl::Mutex mutex_;
  absl::flat_hash_map<const Arena*, std::list<Kept>> runs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_RUN_REPLAY_RUN_H_
