#include "runtime/device_run/device_execution.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"

namespace amp {
namespace {

// Whether the tensors have memory in common.
bool Overlap(const Tensor& a, const Tensor& b) {
  const auto* const a_first = static_cast<const std::byte*>(a.data());
  const auto* const b_first = static_cast<const std::byte*>(b.data());
  return std::less<>()(a_first, b_first + b.size_bytes()) && std::less<>()(b_first, a_first + a.size_bytes());
}

}  // namespace

absl::Status DeviceExecution::RunBlock(GraphId graph) {
  return replay_ != nullptr && graph == kMainGraph ? RunMain() : Execution::RunBlock(graph);
}

absl::Status DeviceExecution::RunOne(const Instruction& instruction) {
  return replay_ != nullptr && replay_->TakesNotes() ? RunNoted(instruction) : Execution::RunOne(instruction);
}

absl::Status DeviceExecution::RunMain() {
  const std::vector<Instruction>& instructions = program_.blocks[kMainGraph];
  for (size_t at = 0; at < instructions.size();) {
    AMP_ASSIGN_OR_RETURN(const size_t next, replay_->Replay(at, frame_));
    if (next > at) {
      at = next;
      continue;
    }
    AMP_RETURN_IF_ERROR(replay_->Before(at, frame_));
    is_clean_ = true;
    at_ = at;
    AMP_RETURN_IF_ERROR(RunOne(instructions[at]));
    AMP_RETURN_IF_ERROR(replay_->Behind(at, is_clean_, frame_));
    ++at;
  }
  return absl::OkStatus();
}

absl::Status DeviceExecution::RunNoted(const Instruction& instruction) {
  const Node& node = model_.node(instruction.node);
  const bool was_clean = std::exchange(is_clean_, !node.Has(Role::kRandom) && node.bodies.empty());
  const int64_t copies_before = frame_.num_copies();
  AMP_RETURN_IF_ERROR(RunNode(instruction));
  is_clean_ = is_clean_ && frame_.num_copies() == copies_before;
  for (const ValueId output : instruction.outputs) {
    if (output != kNone) replay_->SetFixed(output, is_clean_);
  }
  is_clean_ = is_clean_ && was_clean;
  return absl::OkStatus();
}

// ---- rows -----------------------------------------------------------------------------------------------------------

absl::Status DeviceExecution::TryRow(const Instruction& instruction, const KernelRow& row, absl::string_view refusals,
                                     Inputs& inputs, KernelContext& context) {
  if (row.runs_on_device && instruction.why_on_host != nullptr) return Refusal(instruction.why_on_host);
  return Execution::TryRow(instruction, row, refusals, inputs, context);
}

// Whether the processor's work for the row depends on the elements of an input, which may differ in another run: a host
// kernel reads them or makes a view of them, or the row reads the input in the processor's memory.
bool DeviceExecution::SeesElements(const Instruction& instruction, const KernelRow& row, size_t port,
                                   const Datum& input) const {
  if (row.host_inputs.Has(port)) return true;
  const bool is_there = input.tensor() == nullptr || input.tensor()->IsOnHost();
  return !row.runs_on_device && is_there && !model_.node(instruction.node).Has(Role::kReadsShape);
}

// Brings the inputs that the processor reads to its memory; leaves the others where they are.
absl::Status DeviceExecution::BringInputs(const Instruction& instruction, const KernelRow& row, Inputs& inputs) {
  AMP_RETURN_IF_ERROR(Execution::BringInputs(instruction, row, inputs));
  const bool is_noted = replay_ != nullptr && replay_->TakesNotes();
  for (size_t port = 0; port < inputs.size(); ++port) {
    const ValueId input = instruction.inputs[port];
    if (input == kNone) continue;
    inputs[port] = &frame_[input];
    if (row.host_inputs.Has(port)) {
      AMP_ASSIGN_OR_RETURN(inputs[port], frame_.OnHost(input));
    }
    if (is_noted && SeesElements(instruction, row, port, *inputs[port])) {
      is_clean_ = is_clean_ && replay_->IsFixed(input, *inputs[port]);
    }
  }
  return absl::OkStatus();
}

absl::Status DeviceExecution::BringToDevice(const Instruction& instruction, const KernelRow& row, Inputs& inputs) {
  for (size_t port = 0; port < inputs.size(); ++port) {
    const ValueId input = instruction.inputs[port];
    if (input == kNone || row.host_inputs.Has(port)) continue;
    AMP_ASSIGN_OR_RETURN(inputs[port], frame_.OnDevice(input));
  }
  return absl::OkStatus();
}

absl::Status DeviceExecution::RunOnDevice(const KernelRow& row, KernelContext& context) {
  TensorMemory* const on_host = resources_.memory;
  resources_.memory = &place().memory;
  const absl::Status status = row.function(context);
  resources_.memory = on_host;
  AMP_RETURN_IF_ERROR(status);
  return place().device.Status();
}

void DeviceExecution::NoteOverwriting() {
  if (replay_ != nullptr && replay_->IsRecording()) {
    replay_->NoteOverwriting();
  } else {
    has_overwritten_ = true;
  }
}

absl::Status DeviceExecution::StartRow(const Instruction& instruction, const KernelRow& row, Inputs& inputs,
                                       KernelContext& context) {
  if (!row.runs_on_device) return Execution::StartRow(instruction, row, inputs, context);
  AMP_RETURN_IF_ERROR(BringToDevice(instruction, row, inputs));
  if (row.writes_in_place && places_ != nullptr) context.OfferPlaces(PlacesToOffer(instruction));
  const absl::Status status = RunOnDevice(row, context);
  if (context.WroteInPlace()) NoteOverwriting();
  return status;
}

// ---- outputs --------------------------------------------------------------------------------------------------------

absl::StatusOr<std::vector<Datum>> DeviceExecution::TakeOutputs(GraphId graph) {
  const std::vector<ValueId>& values = model_.graph(graph).outputs;
  std::vector<Datum> outputs(values.size());
  std::vector<ValueId> shown;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == kNone) continue;
    AMP_RETURN_IF_ERROR(MakeRowMajor(values[i]));
    if (IsShown(graph, values[i])) shown.push_back(values[i]);
    if (PlaceOf(graph, values[i]) == nullptr) continue;
    AMP_ASSIGN_OR_RETURN(const Datum* const made, frame_.OnDevice(values[i]));
    outputs[i] = *made;
  }
  // This comes before WritePlaces, which may overwrite what these outputs share memory with: inputs that they are views
  // of, or the old content of another output's buffer.
  AMP_RETURN_IF_ERROR(frame_.BringToHost(shown));
  if (places_ != nullptr && graph == kMainGraph) AMP_RETURN_IF_ERROR(WritePlaces(values, outputs));
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == kNone || !IsShown(graph, values[i])) continue;
    AMP_ASSIGN_OR_RETURN(const Datum* const seen, frame_.OnHost(values[i]));
    outputs[i] = *seen;
  }
  return outputs;
}

bool DeviceExecution::IsShown(GraphId graph, ValueId output) const {
  if (PlaceOf(graph, output) == nullptr) return true;
  return shown_ != nullptr && shown_->contains(model_.value(output).name);
}

const Tensor* DeviceExecution::PlaceOf(GraphId graph, ValueId output) const {
  if (places_ == nullptr || graph != kMainGraph || output == kNone) return nullptr;
  const auto it = places_->find(model_.value(output).name);
  return it == places_->end() ? nullptr : it->second.tensor();
}

std::vector<const Tensor*> DeviceExecution::PlacesToOffer(const Instruction& instruction) const {
  // If the run began again from the start, it would find its inputs overwritten.
  if (replay_ != nullptr && replay_->MayBeginAgainBehind(at_)) return {};
  const auto has_place = [&](ValueId output) {
    return output != kNone && PlaceOf(model_.value(output).graph, output) != nullptr;
  };
  if (std::none_of(instruction.outputs.begin(), instruction.outputs.end(), has_place)) return {};
  absl::flat_hash_map<const void*, int> holders = frame_.CountOnDevice();
  for (const auto& [unused, place] : *places_) ++holders[place.tensor()->data()];
  const auto holds_input = [&](const Tensor& place) {
    for (size_t port = 0; port < instruction.inputs.size(); ++port) {
      const ValueId input = instruction.inputs[port];
      if (input == kNone || !instruction.site->last_reads[port]) continue;
      const Tensor* const tensor = frame_.FindOnDevice(input);
      if (tensor != nullptr && tensor->data() == place.data()) return tensor->dims() == place.dims();
    }
    return false;
  };
  constexpr int kInputAndPlace = 2;
  std::vector<const Tensor*> places;
  for (const ValueId output : instruction.outputs) {
    const Tensor* place = output == kNone ? nullptr : PlaceOf(model_.value(output).graph, output);
    if (place != nullptr && (holders[place->data()] != kInputAndPlace || !holds_input(*place))) place = nullptr;
    places.push_back(place);
  }
  return places;
}

absl::Status DeviceExecution::WritePlaces(const std::vector<ValueId>& values, std::vector<Datum>& outputs) {
  struct Move {
    Tensor from, to;
  };
  std::vector<Move> moves;
  for (size_t i = 0; i < values.size(); ++i) {
    const Tensor* const target = PlaceOf(kMainGraph, values[i]);
    if (target == nullptr) continue;
    const Tensor* const made = outputs[i].tensor();
    if (made == nullptr || made->dtype() != target->dtype() || made->dims() != target->dims()) {
      return UsageError("output '", Escaped(model_.value(values[i]).name), "': expected ", target->TypeText(),
                        " as its place has, found ", outputs[i].TypeText());
    }
    if (made->num_elements() > 0 && made->data() != target->data()) moves.push_back({*made, *target});
    outputs[i] = Datum(*target);
  }
  // An output may be the old content of another output's buffer. It is copied before that buffer is written.
  for (Move& move : moves) {
    const bool is_overwritten =
        std::any_of(moves.begin(), moves.end(), [&](const Move& other) { return Overlap(move.from, other.to); });
    if (!is_overwritten) continue;
    AMP_ASSIGN_OR_RETURN(Tensor copy, Tensor::Create(move.from.dtype(), move.from.dims(), &place().memory));
    place().device.CopyWithin(move.from, copy);
    move.from = std::move(copy);
  }
  has_overwritten_ = has_overwritten_ || !moves.empty();
  for (Move& move : moves) place().device.CopyWithin(move.from, move.to);
  return place().device.Status();
}

}  // namespace amp
