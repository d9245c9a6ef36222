#include "runtime/run/execution.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/schema/schema.h"
#include "runtime/kernel/layout.h"
#include "runtime/kernel/no_kernel_error.h"
#include "runtime/plan/widened.h"

namespace amp {
namespace {

// Inputs that the schema requires, as far as their number does not vary.
absl::Status CheckPresent(const Node& node, const KernelContext& context) {
  if (node.schema == nullptr) return absl::OkStatus();
  const auto& ports = node.schema->inputs();
  for (size_t port = 0; port < ports.size(); ++port) {
    if (ports[port].presence == OpSchema::Presence::kRequired && !context.HasInput(port)) {
      return ModelError("expected input '", ports[port].name, "', found none");
    }
  }
  return absl::OkStatus();
}

// Whether they have memory in common.
bool Overlap(const Tensor& a, const Tensor& b) {
  const auto* const a_first = static_cast<const std::byte*>(a.data());
  const auto* const b_first = static_cast<const std::byte*>(b.data());
  return std::less<>()(a_first, b_first + b.size_bytes()) && std::less<>()(b_first, a_first + a.size_bytes());
}

// Whether what a unit reads has the types that its nodes were recognised by. Those of several results are recognised by
// their operators alone, and their rows look at the types, where inference may know none.
bool HasInferredTypes(const Model& model, const Instruction& unit, const KernelContext& context) {
  const bool may_be_unknown = unit.outputs.size() > 1;
  for (size_t i = 0; i < unit.inputs.size(); ++i) {
    const ValueId input = unit.inputs[i];
    if (input == kNone || (may_be_unknown && model.value(input).dtype == DType::kUndefined)) continue;
    if (context.Input(i).dtype() != model.value(input).dtype) return false;
  }
  return true;
}

absl::Status CheckInputs(const Model& model, const Instruction& instruction, const KernelContext& context) {
  if (!instruction.is_unit) return CheckPresent(model.node(instruction.node), context);
  if (HasInferredTypes(model, instruction, context)) return absl::OkStatus();
  return absl::UnimplementedError("inputs of other types");
}

void AddRefusal(const KernelRow& row, absl::string_view reason, std::string& why_not) {
  const std::string refusal = absl::StrCat(row.family, ": ", reason);
  if (absl::EndsWith(why_not, refusal)) return;  // of a row for another layout
  absl::StrAppend(&why_not, why_not.empty() ? "" : "; ", refusal);
}

}  // namespace

Execution::Execution(const Model& model, const Program& program, RunResources& resources, const DevicePlace& place)
    : model_(model), program_(program), resources_(resources), frame_(program.constants, place, resources.memory) {}

absl::StatusOr<std::vector<Datum>> Execution::Run(GraphId graph, std::vector<Datum> inputs) {
  const Graph& scope = model_.graph(graph);
  if (inputs.size() != scope.inputs.size()) {
    return ModelError("expected ", scope.inputs.size(), " inputs of the body, found ", inputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) AMP_RETURN_IF_ERROR(Keep(scope.inputs[i], std::move(inputs[i])));
  const bool may_replay = replay_ != nullptr && graph == kMainGraph;
  AMP_RETURN_IF_ERROR(may_replay ? RunMain(program_.blocks[graph]) : RunAll(program_.blocks[graph]));
  AMP_ASSIGN_OR_RETURN(std::vector<Datum> outputs, TakeOutputs(graph));
  for (const ValueId output : scope.outputs) {
    const bool is_own = output != kNone && model_.value(output).graph == graph;
    if (is_own && program_.constants[output].IsEmpty()) frame_.Free(output);
  }
  return outputs;
}

absl::StatusOr<std::vector<Datum>> Execution::TakeOutputs(GraphId graph) {
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
  // Ahead of places, which may be where these lie: views of inputs, and what another output's place holds until now.
  if (resources_.device != nullptr) AMP_RETURN_IF_ERROR(frame_.BringToHost(shown));
  if (places_ != nullptr && graph == kMainGraph) AMP_RETURN_IF_ERROR(WritePlaces(values, outputs));
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == kNone || !IsShown(graph, values[i])) continue;
    AMP_ASSIGN_OR_RETURN(const Datum* const seen, frame_.OnHost(values[i]));
    outputs[i] = *seen;
  }
  return outputs;
}

bool Execution::IsShown(GraphId graph, ValueId output) const {
  if (PlaceOf(graph, output) == nullptr) return true;
  return shown_ != nullptr && shown_->contains(model_.value(output).name);
}

const Tensor* Execution::PlaceOf(GraphId graph, ValueId output) const {
  if (places_ == nullptr || graph != kMainGraph || output == kNone) return nullptr;
  const auto it = places_->find(model_.value(output).name);
  return it == places_->end() ? nullptr : it->second.tensor();
}

std::vector<const Tensor*> Execution::PlacesToOffer(const Instruction& instruction) const {
  // A run that begins once more would find what it has read before written over.
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

absl::Status Execution::WritePlaces(const std::vector<ValueId>& values, std::vector<Datum>& outputs) {
  struct Move {
    Tensor from, to;
  };
  std::vector<Move> moves;
  for (size_t i = 0; i < values.size(); ++i) {
    const Tensor* const place = PlaceOf(kMainGraph, values[i]);
    if (place == nullptr) continue;
    const Tensor* const made = outputs[i].tensor();
    if (made == nullptr || made->dtype() != place->dtype() || made->dims() != place->dims()) {
      return UsageError("output '", Escaped(model_.value(values[i]).name), "': expected ", place->TypeText(),
                        " as its place has, found ", outputs[i].TypeText());
    }
    if (made->num_elements() > 0 && made->data() != place->data()) moves.push_back({*made, *place});
    outputs[i] = Datum(*place);
  }
  // An output may be what another one's place holds until now.
  for (Move& move : moves) {
    const bool is_overwritten =
        std::any_of(moves.begin(), moves.end(), [&](const Move& other) { return Overlap(move.from, other.to); });
    if (!is_overwritten) continue;
    AMP_ASSIGN_OR_RETURN(Tensor copy, Tensor::Create(move.from.dtype(), move.from.dims(), DeviceMemory()));
    resources_.device->CopyWithin(move.from, copy);
    move.from = std::move(copy);
  }
  has_overwritten_ = has_overwritten_ || !moves.empty();
  for (Move& move : moves) resources_.device->CopyWithin(move.from, move.to);
  return resources_.device->Status();
}

absl::Status Execution::RunAll(const std::vector<Instruction>& instructions) {
  const bool is_noted = replay_ != nullptr && replay_->TakesNotes();
  for (const Instruction& instruction : instructions) {
    AMP_RETURN_IF_ERROR(timings_ != nullptr ? RunTimed(instruction)
                        : is_noted          ? RunNoted(instruction)
                                            : RunNode(instruction));
  }
  return absl::OkStatus();
}

absl::Status Execution::RunMain(const std::vector<Instruction>& instructions) {
  for (size_t at = 0; at < instructions.size();) {
    AMP_ASSIGN_OR_RETURN(const size_t next, replay_->Replay(at, frame_));
    if (next > at) {
      at = next;
      continue;
    }
    AMP_RETURN_IF_ERROR(replay_->Before(at, frame_));
    is_clean_ = true;
    at_ = at;
    AMP_RETURN_IF_ERROR(replay_->TakesNotes() ? RunNoted(instructions[at]) : RunNode(instructions[at]));
    AMP_RETURN_IF_ERROR(replay_->Behind(at, is_clean_, frame_));
    ++at;
  }
  return absl::OkStatus();
}

absl::Status Execution::RunNoted(const Instruction& instruction) {
  const Node& node = model_.node(instruction.node);
  const bool was_clean = std::exchange(is_clean_, !node.Has(Role::kRandom) && node.bodies.empty());
  const int64_t copies_before = copies().in + copies().out;
  AMP_RETURN_IF_ERROR(RunNode(instruction));
  is_clean_ = is_clean_ && copies().in + copies().out == copies_before;
  for (const ValueId output : instruction.outputs) {
    if (output != kNone) replay_->SetFixed(output, is_clean_);
  }
  is_clean_ = is_clean_ && was_clean;
  return absl::OkStatus();
}

absl::Status Execution::Keep(ValueId value, Datum datum) {
  frame_.Set(value, std::move(datum));
  if (observer_ == nullptr) return absl::OkStatus();
  AMP_RETURN_IF_ERROR(MakeRowMajor(value));
  AMP_ASSIGN_OR_RETURN(const Datum* seen, frame_.OnHost(value));
  (*observer_)(value, *seen);
  return absl::OkStatus();
}

absl::Status Execution::RunTimed(const Instruction& instruction) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  absl::Status status = RunNode(instruction);
  if (resources_.device != nullptr && status.ok()) status = resources_.device->Finish();
  timings_->push_back({instruction.node, start.time_since_epoch(), Clock::now() - start});
  return status;
}

absl::Status Execution::MakeRowMajor(ValueId value) {
  const Tensor* const given = frame_[value].tensor();
  if (given == nullptr || given->layout() == Layout::kRowMajor) return absl::OkStatus();
  TensorMemory* const memory = given->IsOnHost() ? resources_.memory : DeviceMemory();
  AMP_ASSIGN_OR_RETURN(Tensor tensor, InLayout(*given, Layout::kRowMajor, memory));
  frame_.Set(value, Datum(std::move(tensor)));
  return absl::OkStatus();
}

// Whether what the processor has behind the row depends on the elements of an input, which another run may have others of:
// it looks at them, or gives a view of them.
bool Execution::SeesElements(const Instruction& instruction, const KernelRow& row, size_t port,
                             const Datum& input) const {
  if (row.host_inputs.Has(port)) return true;
  const bool is_there = input.tensor() == nullptr || input.tensor()->IsOnHost();
  return !row.runs_on_device && is_there && !model_.node(instruction.node).Has(Role::kReadsShape);
}

// Inputs that the processor looks at, where it sees them and in the order that the row takes; the others wherever they
// are.
absl::Status Execution::BringToHost(const Instruction& instruction, const KernelRow& row, Inputs& inputs) {
  for (size_t port = 0; port < inputs.size(); ++port) {
    const ValueId input = instruction.inputs[port];
    if (input == kNone) continue;
    if (!row.takes_channels_last) AMP_RETURN_IF_ERROR(MakeRowMajor(input));
    if (resources_.device == nullptr) continue;
    inputs[port] = &frame_[input];
    if (row.host_inputs.Has(port)) {
      AMP_ASSIGN_OR_RETURN(inputs[port], frame_.OnHost(input));
    }
    const bool is_noted = replay_ != nullptr && replay_->TakesNotes();
    if (is_noted && SeesElements(instruction, row, port, *inputs[port])) {
      is_clean_ = is_clean_ && replay_->IsFixed(input, *inputs[port]);
    }
  }
  return absl::OkStatus();
}

absl::Status Execution::BringToDevice(const Instruction& instruction, const KernelRow& row, Inputs& inputs) {
  for (size_t port = 0; port < inputs.size(); ++port) {
    const ValueId input = instruction.inputs[port];
    if (input == kNone || row.host_inputs.Has(port)) continue;
    AMP_ASSIGN_OR_RETURN(inputs[port], frame_.OnDevice(input));
  }
  return absl::OkStatus();
}

absl::Status Execution::RunOnDevice(const KernelRow& row, KernelContext& context) {
  TensorMemory* const on_host = resources_.memory;
  resources_.memory = DeviceMemory();
  const absl::Status status = row.function(context);
  resources_.memory = on_host;
  AMP_RETURN_IF_ERROR(status);
  return resources_.device->Status();
}

void Execution::NoteOverwriting() {
  if (replay_ != nullptr && replay_->IsRecording()) {
    replay_->NoteOverwriting();
  } else {
    has_overwritten_ = true;
  }
}

absl::StatusOr<const char*> Execution::TryRow(const Instruction& instruction, const KernelRow& row,
                                              absl::string_view why_not, Inputs& inputs, KernelContext& context) {
  if (row.runs_on_device && instruction.why_on_host != nullptr) return instruction.why_on_host;
  AMP_RETURN_IF_ERROR(BringToHost(instruction, row, inputs));
  if (const char* const refusal = row.why_not == nullptr ? nullptr : row.why_not(context)) return refusal;
  if (resources_.is_strict && IsWidened(model_, instruction, row)) return WidenedError(why_not);
  if (row.runs_on_device) {
    AMP_RETURN_IF_ERROR(BringToDevice(instruction, row, inputs));
    if (row.writes_in_place && places_ != nullptr) context.OfferPlaces(PlacesToOffer(instruction));
    const absl::Status status = RunOnDevice(row, context);
    if (context.WroteInPlace()) NoteOverwriting();
    AMP_RETURN_IF_ERROR(status);
  } else {
    AMP_RETURN_IF_ERROR(row.function(context));
  }
  return nullptr;
}

absl::Status Execution::RunFirstThatApplies(const Instruction& instruction, Inputs& inputs, KernelContext& context) {
  std::string why_not;  // of the rows so far
  const int64_t copies_before = copies().in + copies().out;
  for (const KernelRow* row : instruction.kernels) {
    if (row->runs_on_device && resources_.device == nullptr) continue;
    const absl::StatusOr<const char*> refusal = TryRow(instruction, *row, why_not, inputs, context);
    if (refusal.ok() && *refusal == nullptr) {
      context.Ran(*row, why_not, static_cast<int>(copies().in + copies().out - copies_before));
      return absl::OkStatus();
    }
    if (!refusal.ok() && !absl::IsUnimplemented(refusal.status())) return refusal.status();
    AddRefusal(*row, refusal.ok() ? *refusal : refusal.status().message(), why_not);
  }
  return absl::UnimplementedError("no kernel takes it");
}

// A kernel may take a sequence apart that one value alone has: these have two.
std::vector<Datum> Execution::SequencesNeededLater(const Instruction& instruction) const {
  std::vector<Datum> needed;
  for (size_t port = 0; port < instruction.inputs.size(); ++port) {
    const ValueId input = instruction.inputs[port];
    if (input == kNone || frame_[input].sequence() == nullptr || instruction.site->last_uses[port]) continue;
    needed.push_back(frame_[input]);
  }
  return needed;
}

absl::Status Execution::RunNode(const Instruction& instruction) {
  Inputs inputs;
  for (const ValueId input : instruction.inputs) inputs.push_back(input == kNone ? nullptr : &frame_[input]);
  const std::vector<Datum> needed = SequencesNeededLater(instruction);
  absl::InlinedVector<Datum, 2> outputs(instruction.outputs.size());
  KernelContext context(model_, instruction.node, inputs, absl::MakeSpan(outputs), resources_, *this,
                        *instruction.site);
  absl::Status status = CheckInputs(model_, instruction, context);
  // Observers see what is inside a fusion, too.
  if (status.ok() && observer_ != nullptr && !instruction.parts.empty()) status = absl::UnimplementedError("observed");
  if (status.ok()) status = RunFirstThatApplies(instruction, inputs, context);
  if (absl::IsUnimplemented(status) && !instruction.parts.empty()) {
    AMP_RETURN_IF_ERROR(RunAll(instruction.parts));
  } else if (!status.ok()) {
    return WithPrefix(absl::StrCat(Describe(model_, instruction.node), ": "), status);
  } else {
    for (size_t i = 0; i < outputs.size(); ++i) {
      const ValueId output = instruction.outputs[i];
      if (output != kNone) AMP_RETURN_IF_ERROR(Keep(output, std::move(outputs[i])));
    }
  }
  for (const ValueId value : instruction.frees) frame_.Free(value);
  return absl::OkStatus();
}

}  // namespace amp
