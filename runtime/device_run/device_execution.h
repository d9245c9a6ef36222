// Runs a program with a device: kernels of both run, values are copied to where kernels need them, captured stretches
// are replayed, and outputs may stay on the device.
#ifndef AMP_RUNTIME_DEVICE_RUN_DEVICE_EXECUTION_H_
#define AMP_RUNTIME_DEVICE_RUN_DEVICE_EXECUTION_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/device_run/device_frame.h"
#include "runtime/device_run/graph_replay.h"
#include "runtime/run/execution.h"

namespace amp {

class DeviceExecution : public Execution {
 public:
  // All references must outlive the execution. `replay`: null if the run is neither replayed nor recorded. REQUIRES:
  // with a replay, the options have no observer and no timings.
  DeviceExecution(const Model& model, const Program& program, RunResources& resources, DeviceFrame& frame,
                  GraphReplay* replay, const RunOptions& options)
      : Execution(model, program, resources, frame),
        frame_(frame),
        replay_(replay),
        places_(options.output_buffers),
        shown_(options.shown) {}

  // Whether the run has overwritten its inputs, so that states are no longer what they were before it.
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

  // Runs the main graph: skips the instructions that the device replays, and records those that it may replay next
  // time.
  absl::Status RunMain();
  // Runs an instruction and records for the replay what it did.
  absl::Status RunNoted(const Instruction& instruction);
  bool SeesElements(const Instruction& instruction, const KernelRow& row, size_t port, const Datum& input) const;
  absl::Status BringToDevice(const Instruction& instruction, const KernelRow& row, Inputs& inputs);
  absl::Status RunOnDevice(const KernelRow& row, KernelContext& context);
  // Notes that a kernel has overwritten one of its inputs, or will when its recording is launched.
  void NoteOverwriting();
  // Returns, for each output, the output buffer that the instruction may write to directly: one that holds an input of
  // it that nobody else holds or will read. Null: there is none.
  std::vector<const Tensor*> PlacesToOffer(const Instruction& instruction) const;
  // Returns the output buffer of an output; null if the output goes to the processor.
  const Tensor* PlaceOf(GraphId graph, ValueId output) const;
  // Whether the output is returned in the processor's memory.
  bool IsShown(GraphId graph, ValueId output) const;
  // Copies the outputs of the main graph that have output buffers into them. No buffer is written before the outputs
  // that share its memory have been copied elsewhere.
  absl::Status WritePlaces(const std::vector<ValueId>& values, std::vector<Datum>& outputs);
  const DevicePlace& place() const { return frame_.place(); }

  DeviceFrame& frame_;
  GraphReplay* const replay_;
  const NamedDatums* const places_;                      // RunOptions::output_buffers; null: none
  const absl::flat_hash_set<std::string>* const shown_;  // RunOptions::shown; null: none
  bool has_overwritten_ = false;
  size_t at_ = 0;         // index of the main graph's current instruction
  bool is_clean_ = true;  // so far, the current instruction has only started kernels on the device
};

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_RUN_DEVICE_EXECUTION_H_
