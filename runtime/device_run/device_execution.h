// A run with a device: rows of both, values where these need them, stretches that are replayed, outputs that stay there.
#ifndef AMP_RUNTIME_DEVICE_RUN_DEVICE_EXECUTION_H_
#define AMP_RUNTIME_DEVICE_RUN_DEVICE_EXECUTION_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/device_run/device_frame.h"
#include "runtime/device_run/replay_run.h"
#include "runtime/run/execution.h"

namespace amp {

class DeviceExecution : public Execution {
 public:
  // All must outlive the execution. `replay`: null where the run is neither replayed nor recorded. REQUIRES: with it,
  // nobody observes or takes the time.
  DeviceExecution(const Model& model, const Program& program, RunResources& resources, DeviceFrame& frame,
                  ReplayRun* replay, const RunOptions& options)
      : Execution(model, program, resources, frame),
        frame_(frame),
        replay_(replay),
        places_(options.places),
        shown_(options.shown) {}

  // Whether what was read has been written over: states are not what they were before the run.
  bool HasOverwritten() const { return has_overwritten_ || (replay_ != nullptr && replay_->HasOverwritten()); }

 private:
  absl::Status RunBlock(GraphId graph) override;
  absl::Status RunOne(const Instruction& instruction) override;
  absl::Status TryRow(const Instruction& instruction, const KernelRow& row, absl::string_view refusals, Inputs& inputs,
                      KernelContext& context) override;
  absl::Status BringInputs(const Instruction& instruction, const KernelRow& row, Inputs& inputs) override;
  absl::Status StartRow(const Instruction& instruction, const KernelRow& row, Inputs& inputs,
                        KernelContext& context) override;
  absl::Status Finish() override { return place().device.Finish(); }
  absl::StatusOr<std::vector<Datum>> TakeOutputs(GraphId graph) override;

  // Leaves out what the device replays, and records what it may replay next time.
  absl::Status RunMain();
  // Runs an instruction while the replay takes notes of it.
  absl::Status RunNoted(const Instruction& instruction);
  bool SeesElements(const Instruction& instruction, const KernelRow& row, size_t port, const Datum& input) const;
  absl::Status BringToDevice(const Instruction& instruction, const KernelRow& row, Inputs& inputs);
  absl::Status RunOnDevice(const KernelRow& row, KernelContext& context);
  // A kernel has written over what it read, or will where it is recorded.
  void NoteOverwriting();
  // By output: a place that the instruction may write to already, as it holds an input that nobody else has or will read.
  std::vector<const Tensor*> PlacesToOffer(const Instruction& instruction) const;
  // Null where the output goes to the processor.
  const Tensor* PlaceOf(GraphId graph, ValueId output) const;
  // Whether the processor is to see the output.
  bool IsShown(GraphId graph, ValueId output) const;
  // Of the outputs of the main graph, those that have a place: there, and then at none of the others' source.
  absl::Status WritePlaces(const std::vector<ValueId>& values, std::vector<Datum>& outputs);
  const DevicePlace& place() const { return frame_.place(); }

  DeviceFrame& frame_;
  ReplayRun* const replay_;
  const NamedDatums* const places_;                      // RunOptions::places; null: none
  const absl::flat_hash_set<std::string>* const shown_;  // RunOptions::shown; null: none
  bool has_overwritten_ = false;
  size_t at_ = 0;         // the instruction of the main graph that is under way
  bool is_clean_ = true;  // of the instruction under way: it has done nothing but start kernels of the device, so far
};

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_RUN_DEVICE_EXECUTION_H_
