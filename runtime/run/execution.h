// One run of a program: the values that are alive, and the instructions one after another.
#ifndef AMP_RUNTIME_RUN_EXECUTION_H_
#define AMP_RUNTIME_RUN_EXECUTION_H_

#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/graph/graph.h"
#include "runtime/kernel/kernel.h"
#include "runtime/plan/program.h"
#include "runtime/run/replay_run.h"
#include "runtime/run/run_options.h"
#include "runtime/run/value_frame.h"

namespace amp {

class Execution : public BodyRunner {
 public:
  // All must outlive the execution. `place`: of a run with a device.
  Execution(const Model& model, const Program& program, RunResources& resources, const DevicePlace& place = {});

  size_t NumInputs(GraphId body) const override { return model_.graph(body).inputs.size(); }
  absl::StatusOr<std::vector<Datum>> Run(GraphId graph, std::vector<Datum> inputs) override;
  // Gives an input or an initializer of the main graph its value, before the run.
  void Set(ValueId value, Datum datum) { frame_.Set(value, std::move(datum)); }
  // Whether what was read has been written over: states are not what they were before the run.
  bool HasOverwritten() const { return has_overwritten_ || (replay_ != nullptr && replay_->HasOverwritten()); }
  // Between the processor's memory and the device's, so far; constants are not among them.
  const CopyCounts& copies() const { return frame_.copies(); }
  // Calls it with every value that is computed or given, when it is.
  void Observe(const ValueObserver* observer) { observer_ = observer; }
  // Leaves out what the device replays, and records what it may replay next time. REQUIRES: nobody observes or takes the time.
  void Replay(ReplayRun* replay) { replay_ = replay; }
  // Outputs of the main graph that are left on the device, in the tensors of their names: RunOptions::places.
  void Place(const NamedDatums* places) { places_ = places; }
  void Show(const absl::flat_hash_set<std::string>* shown) { shown_ = shown; }
  // Appends when each instruction ran, those of bodies before the one that they belong to.
  void Time(std::vector<InstructionTiming>* timings) { timings_ = timings; }

 private:
  using Inputs = absl::InlinedVector<const Datum*, 6>;

  absl::Status Keep(ValueId value, Datum datum);
  absl::Status RunTimed(const Instruction& instruction);
  absl::Status RunAll(const std::vector<Instruction>& instructions);
  absl::Status RunMain(const std::vector<Instruction>& instructions);
  // RunNode, while the replay takes notes of it.
  absl::Status RunNoted(const Instruction& instruction);
  std::vector<Datum> SequencesNeededLater(const Instruction& instruction) const;
  absl::Status RunNode(const Instruction& instruction);
  absl::Status RunFirstThatApplies(const Instruction& instruction, Inputs& inputs, KernelContext& context);
  // Runs one row, unless it says why not: gives that then, else null. `why_not`: of the rows before it. Errors: those of the
  // row, kUnimplemented among them.
  absl::StatusOr<const char*> TryRow(const Instruction& instruction, const KernelRow& row, absl::string_view why_not,
                                     Inputs& inputs, KernelContext& context);
  bool SeesElements(const Instruction& instruction, const KernelRow& row, size_t port, const Datum& input) const;
  absl::Status BringToHost(const Instruction& instruction, const KernelRow& row, Inputs& inputs);
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
  // The values of a graph's outputs, as they are before places are written.
  absl::StatusOr<std::vector<Datum>> TakeOutputs(GraphId graph);
  // Of the outputs of the main graph, those that have a place: there, and then at none of the others' source.
  absl::Status WritePlaces(const std::vector<ValueId>& values, std::vector<Datum>& outputs);
  TensorMemory* DeviceMemory() const {
    return frame_.place().memory == nullptr ? resources_.device : frame_.place().memory;
  }
  // Gives the value the order of elements that all kernels know.
  absl::Status MakeRowMajor(ValueId value);

  const Model& model_;
  const Program& program_;
  RunResources& resources_;
  ValueFrame frame_;
  const ValueObserver* observer_ = nullptr;
  std::vector<InstructionTiming>* timings_ = nullptr;
  ReplayRun* replay_ = nullptr;
  const NamedDatums* places_ = nullptr;
  const absl::flat_hash_set<std::string>* shown_ = nullptr;
  bool has_overwritten_ = false;
  size_t at_ = 0;         // the instruction of the main graph that is under way
  bool is_clean_ = true;  // of the instruction under way: it has done nothing but start kernels of the device, so far
};

}  // namespace amp

#endif  // AMP_RUNTIME_RUN_EXECUTION_H_
