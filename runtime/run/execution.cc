#include "runtime/run/execution.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "runtime/kernel/layout.h"
#include "runtime/kernel/no_kernel_error.h"
#include "runtime/onednn/open_library.h"
#include "runtime/plan/widened.h"
#include "runtime/run/check_node.h"

namespace amp {
namespace {

void AddRefusal(const KernelRow& row, absl::string_view reason, std::string& refusals) {
  const std::string refusal = absl::StrCat(row.family, ": ", reason);
  if (absl::EndsWith(refusals, refusal)) return;  // a row for another layout has said it already
  absl::StrAppend(&refusals, refusals.empty() ? "" : "; ", refusal);
}

}  // namespace

absl::StatusOr<std::vector<Datum>> Execution::Run(GraphId graph, std::vector<Datum> inputs) {
  const Graph& scope = model_.graph(graph);
  if (inputs.size() != scope.inputs.size()) {
    return ModelError("expected ", scope.inputs.size(), " inputs of the body, found ", inputs.size());
  }
  if (witness_ != nullptr) witness_->Began(graph, inputs);
  for (size_t i = 0; i < inputs.size(); ++i) AMP_RETURN_IF_ERROR(Keep(scope.inputs[i], std::move(inputs[i])));
  AMP_RETURN_IF_ERROR(RunBlock(graph));
  AMP_ASSIGN_OR_RETURN(std::vector<Datum> outputs, TakeOutputs(graph));
  if (witness_ != nullptr) witness_->Ended(graph, outputs);
  for (const ValueId output : scope.outputs) {
    const bool is_own = output != kNone && model_.value(output).graph == graph;
    if (!is_own || !program_.constants[output].IsEmpty()) continue;
    if (witness_ != nullptr) witness_->Freed(output);
    frame_.Free(output);
  }
  return outputs;
}

absl::StatusOr<std::vector<Datum>> Execution::TakeOutputs(GraphId graph) {
  const std::vector<ValueId>& values = model_.graph(graph).outputs;
  std::vector<Datum> outputs(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == kNone) continue;
    AMP_RETURN_IF_ERROR(MakeRowMajor(values[i]));
    outputs[i] = frame_[values[i]];
  }
  return outputs;
}

absl::Status Execution::RunAll(const std::vector<Instruction>& instructions) {
  for (const Instruction& instruction : instructions) AMP_RETURN_IF_ERROR(RunOne(instruction));
  return absl::OkStatus();
}

absl::Status Execution::RunOne(const Instruction& instruction) {
  return timings_ != nullptr ? RunTimed(instruction) : RunNode(instruction);
}

absl::Status Execution::Keep(ValueId value, Datum datum) {
  frame_.Set(value, std::move(datum));
  if (observer_ == nullptr && witness_ == nullptr) return absl::OkStatus();
  AMP_RETURN_IF_ERROR(MakeRowMajor(value));
  if (observer_ == nullptr) return absl::OkStatus();
  AMP_ASSIGN_OR_RETURN(const Datum* seen, frame_.OnHost(value));
  (*observer_)(value, *seen);
  return absl::OkStatus();
}

absl::Status Execution::RunTimed(const Instruction& instruction) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  absl::Status status = RunNode(instruction);
  if (status.ok()) status = Finish();
  timings_->push_back({instruction.node, start.time_since_epoch(), Clock::now() - start});
  return status;
}

absl::Status Execution::MakeRowMajor(ValueId value) {
  const Tensor* const given = frame_[value].tensor();
  if (given == nullptr || given->layout() == Layout::kRowMajor) return absl::OkStatus();
  AMP_ASSIGN_OR_RETURN(Tensor tensor, InLayout(*given, Layout::kRowMajor, frame_.MemoryBeside(*given)));
  frame_.Set(value, Datum(std::move(tensor)));
  return absl::OkStatus();
}

absl::Status Execution::BringInputs(const Instruction& instruction, const KernelRow& row, Inputs&) {
  if (row.takes_channels_last) return absl::OkStatus();
  for (const ValueId input : instruction.inputs) {
    if (input != kNone) AMP_RETURN_IF_ERROR(MakeRowMajor(input));
  }
  return absl::OkStatus();
}

absl::Status Execution::StartRow(const Instruction&, const KernelRow& row, Inputs&, KernelContext& context) {
  return row.function(context);
}

absl::Status Execution::TryRow(const Instruction& instruction, const KernelRow& row, absl::string_view refusals,
                               Inputs& inputs, KernelContext& context) {
  AMP_RETURN_IF_ERROR(BringInputs(instruction, row, inputs));
  if (const Refusal refusal = row.refusal == nullptr ? Refusal() : row.refusal(context)) return refusal;
  if (resources_.is_strict && IsWidened(model_, instruction, row)) return WidenedError(refusals);
  absl::InlinedVector<ConstantHold, 1> holds;
  for (size_t port = 0; !row.packs_weights && port < instruction.site->droppable.size(); ++port) {
    AMP_ASSIGN_OR_RETURN(ConstantHold hold, context.HoldConstant(port, ConstantUse::kInRuns));
    holds.push_back(std::move(hold));
  }
  return StartRow(instruction, row, inputs, context);
}

absl::Status Execution::RunFirstThatApplies(const Instruction& instruction, Inputs& inputs, KernelContext& context) {
  std::string refusals;  // reasons of the rows tried so far, "family: reason; ..."
  const int64_t copies_before = frame_.num_copies();
  for (const KernelRow* row : instruction.kernels) {
    absl::Status status = TryRow(instruction, *row, refusals, inputs, context);
    if (status.ok()) {
      context.Ran(*row, refusals, static_cast<int>(frame_.num_copies() - copies_before));
      return absl::OkStatus();
    }
    if (!IsRefusal(status)) return status;
    AddRefusal(*row, status.message(), refusals);
  }
  return Refused(refusals);
}

// A kernel may modify a sequence in place if it holds the only reference. The copies returned here are second
// references to the input sequences that later instructions read.
std::vector<Datum> Execution::SequencesNeededLater(const Instruction& instruction) const {
  std::vector<Datum> needed;
  for (size_t port = 0; port < instruction.inputs.size(); ++port) {
    const ValueId input = instruction.inputs[port];
    if (input == kNone || frame_[input].sequence() == nullptr || instruction.site->last_uses[port]) continue;
    needed.push_back(frame_[input]);
  }
  return needed;
}

// Shows the witness a node that has run.
absl::Status Execution::Show(const Instruction& instruction, NodeWitness::Datums inputs) {
  Inputs outputs;
  for (const ValueId output : instruction.outputs) outputs.push_back(output == kNone ? nullptr : &frame_[output]);
  const auto rerun = [&](NodeWitness::Datums others) -> absl::StatusOr<std::vector<Datum>> {
    Inputs again(others.begin(), others.end());
    absl::InlinedVector<Datum, 6> held;  // no kernel writes to them
    for (const Datum* const other : others) held.push_back(other == nullptr ? Datum() : *other);
    std::vector<Datum> results(instruction.outputs.size());
    KernelContext context(model_, instruction.node, again, absl::MakeSpan(results), resources_, *this,
                          *instruction.site);
    AMP_RETURN_IF_ERROR(RunFirstThatApplies(instruction, again, context));
    for (Datum& result : results) {
      if (result.tensor() == nullptr || result.tensor()->layout() == Layout::kRowMajor) continue;
      AMP_ASSIGN_OR_RETURN(result, InLayout(*result.tensor(), Layout::kRowMajor, nullptr));
    }
    return results;
  };
  return witness_->Ran(instruction.node, inputs, outputs, rerun);
}

absl::Status Execution::RunNode(const Instruction& instruction) {
  Inputs inputs;
  for (const ValueId input : instruction.inputs) inputs.push_back(input == kNone ? nullptr : &frame_[input]);
  if (const onednn::Library* const library = onednn::OpenLibrary().library) library->BetweenNodes();
  if (may_go_on_ != nullptr) AMP_RETURN_IF_ERROR((*may_go_on_)(model_.node(instruction.node), inputs));
  const std::vector<Datum> needed = SequencesNeededLater(instruction);
  // A witness is shown the inputs as they were: while they are held here, no kernel writes to them.
  absl::InlinedVector<Datum, 6> held;
  if (witness_ != nullptr) {
    for (const Datum*& input : inputs) held.push_back(input == nullptr ? Datum() : *input);
  }
  absl::InlinedVector<Datum, 2> outputs(instruction.outputs.size());
  KernelContext context(model_, instruction.node, inputs, absl::MakeSpan(outputs), resources_, *this,
                        *instruction.site);
  absl::Status status = CheckNode(model_, instruction, context);
  // Observers are told the values inside a fusion, too, so its nodes run one by one.
  if (status.ok() && (observer_ != nullptr || witness_ != nullptr) && !instruction.unfused.empty())
    status = Refusal("observed");
  if (status.ok()) status = RunFirstThatApplies(instruction, inputs, context);
  if (IsRefusal(status) && !instruction.unfused.empty()) {
    AMP_RETURN_IF_ERROR(RunAll(instruction.unfused));
  } else if (IsRefusal(status)) {
    return ModelError(Describe(model_, instruction.node), ": no kernel takes the inputs (", status.message(), ")");
  } else if (!status.ok()) {
    return WithPrefix(absl::StrCat(Describe(model_, instruction.node), ": "), status);
  } else {
    for (size_t i = 0; i < outputs.size(); ++i) {
      const ValueId output = instruction.outputs[i];
      if (output != kNone) AMP_RETURN_IF_ERROR(Keep(output, std::move(outputs[i])));
    }
    if (witness_ != nullptr) {
      for (size_t i = 0; i < held.size(); ++i) inputs[i] = inputs[i] == nullptr ? nullptr : &held[i];
      AMP_RETURN_IF_ERROR(Show(instruction, inputs));
    }
  }
  for (const ValueId value : instruction.frees) {
    if (witness_ != nullptr) witness_->Freed(value);
    frame_.Free(value);
  }
  return absl::OkStatus();
}

}  // namespace amp
