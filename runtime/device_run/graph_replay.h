// Records stretches of a run's instructions on a device, and replays each with one launch.
//
//   run 1   runs plainly, and notes which instructions only start kernels on the device
//   run 2   records sequences of such instructions, and replays each
//   run 3   x copied in   [MatMul ... Softmax]   y copied out        one replay; the instructions are not executed
//
// A recording reads and writes fixed addresses. It can be replayed while all of this is as it was when it was recorded:
// the shapes of the inputs, the arena's plan, the addresses and shapes of the values that the stretch reads and of its
// output buffers, and the number of holders of the memory that it overwrites. Otherwise the instructions run, and are
// recorded again. Inside a stretch, the processor computes only from shapes and constants, so that its results are the
// same in every run.
#ifndef AMP_RUNTIME_DEVICE_RUN_GRAPH_REPLAY_H_
#define AMP_RUNTIME_DEVICE_RUN_GRAPH_REPLAY_H_

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

// The recordings for one arena and one set of input shapes. Used by one run at a time.
class GraphReplay {
 public:
  GraphReplay(const Model& model, const Program& program, Accelerator& device, Arena& arena)
      : model_(model), program_(program), device_(device), arena_(arena), is_fixed_(model.num_values(), false) {}

  // Whether the run that begins will record. If so, no other run may use the device meanwhile.
  bool WillRecord() const;

  // ---- called by the execution of a run, from Start to End, around each instruction of the main graph
  // `places`: the output buffers of RunOptions::output_buffers; null: none.
  void Start(const NamedDatums* places);
  // Replays the stretch that begins at instruction `at`, if it can be. Returns the instruction behind it, or `at`
  // itself if nothing was replayed.
  absl::StatusOr<size_t> Replay(size_t at, DeviceFrame& frame);
  // Before begins a recording if a stretch begins at `at`; Behind ends it and launches it. Errors: kCancelled if the
  // recording cannot be replayed. In that case none of its work has been done, and the run must begin again.
  absl::Status Before(size_t at, const DeviceFrame& frame);
  absl::Status Behind(size_t at, bool is_clean, const DeviceFrame& frame);
  // Whether a stretch is recorded behind the instruction, which may be cancelled so that the run begins again.
  bool MayBeginAgainBehind(size_t at) const;
  // Whether kernels that are started now are only recorded; they run when the stretch is launched.
  bool IsRecording() const { return recorded_ != nullptr; }
  // Notes that a kernel of the recording overwrites one of its inputs. REQUIRES: IsRecording.
  void NoteOverwriting() { recorded_->overwrites = true; }
  // Whether a stretch that overwrites its inputs has been launched in this run, or in the last one if none has begun.
  bool HasOverwritten() const { return has_overwritten_; }
  // Must be called whether the run succeeded or not.
  void End(const absl::Status& status);

  // ---- called for the instructions of all graphs, while TakesNotes
  bool TakesNotes() const { return mode_ == Mode::kNotes; }
  // Whether the value has the same elements, as the processor sees them, in every run with inputs of these shapes.
  bool IsFixed(ValueId value, const Datum& datum) const;
  void SetFixed(ValueId value, bool is_fixed) { is_fixed_[value] = is_fixed; }

 private:
  enum class Mode { kOff, kNotes, kReplays };  // kReplays: also records stretches that have no recording
  // The address, type, layout and shape of a value that the device reads.
  struct Source {
    ValueId value;
    const void* data;
    DType dtype;
    Layout layout;
    Dims dims;
    bool IsWhere(const Tensor& tensor) const;
  };
  // An output of the model with its output buffer, and how many values and buffers began at that buffer's address ahead
  // of the stretch. Kernels write there directly if nobody else holds that memory.
  struct Target {
    ValueId output;
    std::optional<Source> place;
    int holders;
  };
  // A value that exists behind a stretch: in the processor's memory, in the memory of another value, or in an arena's
  // block.
  struct Result {
    ValueId value;
    DType dtype;
    Layout layout;
    Dims dims;
    std::optional<Datum> on_host;
    ValueId lies_in = kNone;
    size_t block = 0;
  };
  // A value for which the model has a constant, and whether the run used that constant rather than one given by the
  // caller.
  struct Default {
    ValueId value;
    bool is_own;
  };
  struct Stretch {
    size_t first, end;  // instructions of the main graph
    std::unique_ptr<CapturedGraph> recording;
    Arena::Position before, after;
    std::vector<Source> sources;
    std::vector<Default> defaults;
    std::vector<Result> results;
    std::vector<Target> targets;
    bool overwrites;  // an output buffer that holds an input of the stretch
  };

  const std::vector<Instruction>& instructions() const { return program_.blocks[kMainGraph]; }
  Stretch* StretchFrom(size_t at);
  void FindStretches();
  bool Holds(const Stretch& stretch, const DeviceFrame& frame) const;
  bool HasTargets(const Stretch& stretch, const DeviceFrame& frame) const;
  absl::Status Launch(const Stretch& stretch);
  // Returns the output buffer of an output; null if the output goes to the processor.
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
  std::vector<bool> is_clean_;  // by instruction: it only started kernels on the device
  IdVector<ValueId, bool> is_fixed_;
  std::vector<Stretch> stretches_;
  bool may_record_ = false;      // in this run
  Stretch* recorded_ = nullptr;  // the stretch being recorded; null: none
  uint64_t number_ = 0;          // Arena::number() of the plan that the recordings are for
  int num_recordings_ = 0;
  const NamedDatums* places_ = nullptr;  // output buffers by output, in this run
  bool has_overwritten_ = false;
};

// The recordings of a session, by arena and input shapes; for each arena, those of the last few shapes are kept.
class GraphReplays {
 public:
  // Returns the recordings for the arena and the shapes `key`. The reference is valid until this is called for the
  // arena with other shapes. REQUIRES: the arena belongs to the current run alone, and outlives this.
  GraphReplay& Of(const Model& model, const Program& program, Accelerator& device, Arena& arena,
                  const std::vector<int64_t>& key);

 private:
  struct Kept {
    std::vector<int64_t> key;
    std::unique_ptr<GraphReplay> run;
  };
  absl::Mutex mutex_;
  absl::flat_hash_map<const Arena*, std::list<Kept>> runs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_RUN_GRAPH_REPLAY_H_
