// One run of a program: the values that are alive, and the instructions one after another.
//
// This class runs on the processor. Its virtual functions are the interface to runtime/device_run, where a derived
// class also uses the memory and the kernels of a device.
#ifndef AMP_RUNTIME_RUN_EXECUTION_H_
#define AMP_RUNTIME_RUN_EXECUTION_H_

#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ir/graph/graph.h"
#include "runtime/kernel/kernel.h"
#include "runtime/plan/program.h"
#include "runtime/run/node_witness.h"
#include "runtime/run/run_options.h"
#include "runtime/run/value_frame.h"

namespace amp {

class Execution : public BodyRunner {
 public:
  // All must outlive the execution.
  Execution(const Model& model, const Program& program, RunResources& resources, ValueFrame& frame)
      : model_(model), program_(program), resources_(resources), frame_(frame) {}

  size_t NumInputs(GraphId body) const override { return model_.graph(body).inputs.size(); }
  absl::StatusOr<std::vector<Datum>> Run(GraphId graph, std::vector<Datum> inputs) override;
  // Calls `observer` with every value as soon as it is given or computed.
  void Observe(const ValueObserver* observer) { observer_ = observer; }
  // Asks before each instruction whether to go on.
  void Ask(const NodeGate* may_go_on) { may_go_on_ = may_go_on; }
  // Shows `witness` every node that runs.
  void ShowTo(NodeWitness* witness) { witness_ = witness; }
  // Appends the time of each instruction to `timings`; instructions of a body come before the one that owns the body.
  void Time(std::vector<InstructionTiming>* timings) { timings_ = timings; }

 protected:
  using Inputs = absl::InlinedVector<const Datum*, 6>;

  // ---- overridden for a device
  // Runs the instructions of a graph.
  virtual absl::Status RunBlock(GraphId graph) { return RunAll(program_.blocks[graph]); }
  // Runs one instruction, and records its time if asked to.
  virtual absl::Status RunOne(const Instruction& instruction);
  // Runs one kernel row. `refusals`: the reasons of the rows tried before. Errors: a refusal; the kernel's own.
  virtual absl::Status TryRow(const Instruction& instruction, const KernelRow& row, absl::string_view refusals,
                              Inputs& inputs, KernelContext& context);
  // Brings the inputs into the memory and the layout that the row takes.
  virtual absl::Status BringInputs(const Instruction& instruction, const KernelRow& row, Inputs& inputs);
  virtual absl::Status StartRow(const Instruction& instruction, const KernelRow& row, Inputs& inputs,
                                KernelContext& context);
  // Waits until all work that was started is done.
  virtual absl::Status Finish() { return absl::OkStatus(); }
  // Returns the values of a graph's outputs.
  virtual absl::StatusOr<std::vector<Datum>> TakeOutputs(GraphId graph);

  // ---- used on the processor and on a device
  absl::Status RunNode(const Instruction& instruction);
  // Converts the value to the row-major layout, which all kernels take.
  absl::Status MakeRowMajor(ValueId value);

  const Model& model_;
  const Program& program_;
  RunResources& resources_;

 private:
  absl::Status Keep(ValueId value, Datum datum);
  absl::Status RunAll(const std::vector<Instruction>& instructions);
  absl::Status RunTimed(const Instruction& instruction);
  absl::Status RunFirstThatApplies(const Instruction& instruction, Inputs& inputs, KernelContext& context);
  std::vector<Datum> SequencesNeededLater(const Instruction& instruction) const;
  absl::Status Show(const Instruction& instruction, NodeWitness::Datums inputs);

  ValueFrame& frame_;
  const ValueObserver* observer_ = nullptr;
  const NodeGate* may_go_on_ = nullptr;
  NodeWitness* witness_ = nullptr;
  std::vector<InstructionTiming>* timings_ = nullptr;
};

}  // namespace amp

#endif  // AMP_RUNTIME_RUN_EXECUTION_H_
