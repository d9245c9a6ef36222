#include "runtime/device_run/graph_replay.h"

#include <algorithm>
#include <utility>

#include "ir/base/status.h"

namespace amp {
namespace {

constexpr size_t kFewestKernels = 2;  // a stretch with fewer kernels is not worth recording
constexpr int kMostRecordings = 16;   // where addresses keep changing, recordings cost more than they save
constexpr size_t kMostKept = 16;      // per arena, in shapes of the inputs: each recording takes memory on the device

absl::Status Cancelled(const char* why) { return absl::CancelledError(why); }

// Visits the instruction and all instructions that it was fused from.
template <typename Visit>
void ForEachPart(const Instruction& instruction, const Visit& visit) {
  visit(instruction);
  for (const Instruction& part : instruction.unfused) ForEachPart(part, visit);
}

// Returns how many device kernels ran for the instruction in its last run.
size_t NumOnDevice(const Instruction& instruction) {
  size_t count = 0;
  ForEachPart(instruction, [&](const Instruction& part) {
    const absl::MutexLock lock(&part.site->mutex);
    const KernelRow* const row = part.site->row;
    if (row != nullptr && row->runs_on_device) ++count;
  });
  return count;
}

// Whether the instruction exchanged data with other ranks in its last run.
bool JoinedRanks(const Instruction& instruction) {
  bool has_joined = false;
  ForEachPart(instruction, [&](const Instruction& part) {
    const absl::MutexLock lock(&part.site->mutex);
    has_joined = has_joined || (part.site->row != nullptr && part.site->row->joins_ranks);
  });
  return has_joined;
}

// A memory that hands out one existing block.
class OneBlock : public TensorMemory {
 public:
  OneBlock(std::shared_ptr<void> block, TensorMemory& of) : block_(std::move(block)), of_(of) {}
  std::shared_ptr<void> Allocate(size_t) override { return std::move(block_); }
  size_t alignment() const override { return of_.alignment(); }
  ElementMover* mover() override { return of_.mover(); }

 private:
  std::shared_ptr<void> block_;
  TensorMemory& of_;
};

absl::StatusOr<Datum> OnHeap(const Tensor& tensor) {
  if (tensor.dtype() == DType::kString || tensor.layout() != Layout::kRowMajor) return Cancelled("a value that stays");
  AMP_ASSIGN_OR_RETURN(Tensor copy, Tensor::Create(tensor.dtype(), tensor.dims()));
  std::copy(tensor.bytes().begin(), tensor.bytes().end(), copy.mutable_bytes().begin());
  return Datum(std::move(copy));
}

}  // namespace

// ---- what may be recorded -------------------------------------------------------------------------------------------

bool GraphReplay::IsFixed(ValueId value, const Datum& datum) const {
  const Tensor* const constant = program_.constants[value].tensor();
  const Tensor* const tensor = datum.tensor();
  if (constant != nullptr) return tensor != nullptr && constant->data() == tensor->data();
  return is_fixed_[value];
}

void GraphReplay::FindStretches() {
  size_t first = 0, kernels = 0;
  // A run that is cancelled begins again. A value that was already reduced over the ranks must not be reduced twice, so
  // no stretch begins behind an instruction that joins the ranks.
  bool has_joined = false, had_joined_before = false;
  const auto finish = [&](size_t end) {
    if (kernels >= kFewestKernels && !had_joined_before) {
      stretches_.push_back({.first = first,
                            .end = end,
                            .recording = nullptr,
                            .before = {},
                            .after = {},
                            .sources = {},
                            .defaults = {},
                            .results = {},
                            .targets = {},
                            .overwrites = false});
    }
    first = end + 1;
    kernels = 0;
    had_joined_before = has_joined;
  };
  for (size_t i = 0; i < is_clean_.size(); ++i) {
    has_joined = has_joined || JoinedRanks(instructions()[i]);
    if (!is_clean_[i]) {
      finish(i);
    } else {
      kernels += NumOnDevice(instructions()[i]);
    }
  }
  finish(is_clean_.size());
}

// ---- a run ----------------------------------------------------------------------------------------------------------

bool GraphReplay::WillRecord() const {
  if (mode_ != Mode::kReplays || arena_.number() == 0) return false;
  return arena_.number() != number_ || std::any_of(stretches_.begin(), stretches_.end(),
                                                   [](const Stretch& stretch) { return stretch.recording == nullptr; });
}

void GraphReplay::Start(const NamedDatums* places) {
  places_ = places;
  has_overwritten_ = false;
  may_record_ = WillRecord();
  if (mode_ == Mode::kNotes) is_clean_.assign(instructions().size(), false);
  if (mode_ != Mode::kReplays || arena_.number() == number_) return;
  for (Stretch& stretch : stretches_) stretch.recording = nullptr;
  number_ = arena_.number();
}

GraphReplay::Stretch* GraphReplay::StretchFrom(size_t at) {
  const auto found =
      std::find_if(stretches_.begin(), stretches_.end(), [&](const Stretch& stretch) { return stretch.first == at; });
  return found == stretches_.end() ? nullptr : &*found;
}

bool GraphReplay::HasOwnConstant(ValueId value, const DeviceFrame& frame) const {
  const Tensor* const own = program_.constants[value].tensor();
  const Tensor* const present = frame[value].tensor();
  return own != nullptr && present != nullptr && own->data() == present->data();
}

bool GraphReplay::Source::IsWhere(const Tensor& tensor) const {
  return tensor.data() == data && tensor.dtype() == dtype && tensor.layout() == layout && tensor.dims() == dims;
}

const Tensor* GraphReplay::PlaceOf(ValueId output) const {
  if (places_ == nullptr) return nullptr;
  const auto it = places_->find(model_.value(output).name);
  return it == places_->end() ? nullptr : it->second.tensor();
}

absl::flat_hash_map<const void*, int> GraphReplay::CountHolders(const DeviceFrame& frame) const {
  absl::flat_hash_map<const void*, int> holders = frame.CountOnDevice();
  if (places_ == nullptr) return holders;
  for (const auto& [unused, place] : *places_) ++holders[place.tensor()->data()];
  return holders;
}

// Whether outputs go to the same buffers as when the stretch was recorded. If the stretch overwrites its inputs, also
// whether the same number of values and buffers share each of these addresses.
bool GraphReplay::HasTargets(const Stretch& stretch, const DeviceFrame& frame) const {
  absl::flat_hash_map<const void*, int> holders;
  if (stretch.overwrites) holders = CountHolders(frame);
  return std::all_of(stretch.targets.begin(), stretch.targets.end(), [&](const Target& target) {
    const Tensor* const place = PlaceOf(target.output);
    if (place == nullptr || !target.place.has_value()) return place == nullptr && !target.place.has_value();
    return target.place->IsWhere(*place) && (!stretch.overwrites || holders[place->data()] == target.holders);
  });
}

bool GraphReplay::Holds(const Stretch& stretch, const DeviceFrame& frame) const {
  if (arena_.position() != stretch.before) return false;
  const bool has_defaults = std::all_of(stretch.defaults.begin(), stretch.defaults.end(), [&](const Default& each) {
    return HasOwnConstant(each.value, frame) == each.is_own;
  });
  if (!has_defaults || !HasTargets(stretch, frame)) return false;
  return std::all_of(stretch.sources.begin(), stretch.sources.end(), [&](const Source& source) {
    const Tensor* const tensor = frame.FindOnDevice(source.value);
    return tensor != nullptr && source.IsWhere(*tensor);
  });
}

absl::Status GraphReplay::Launch(const Stretch& stretch) {
  has_overwritten_ = has_overwritten_ || stretch.overwrites;
  return device_.Replay(*stretch.recording);
}

absl::StatusOr<size_t> GraphReplay::Replay(size_t at, DeviceFrame& frame) {
  Stretch* const stretch = mode_ == Mode::kReplays ? StretchFrom(at) : nullptr;
  if (stretch == nullptr || stretch->recording == nullptr) return at;
  if (!Holds(*stretch, frame)) {
    stretch->recording = nullptr;
    return at;
  }
  AMP_RETURN_IF_ERROR(Launch(*stretch));
  AMP_RETURN_IF_ERROR(SetResults(*stretch, frame));
  return stretch->end;
}

absl::Status GraphReplay::Before(size_t at, const DeviceFrame& frame) {
  Stretch* const stretch = mode_ == Mode::kReplays ? StretchFrom(at) : nullptr;
  const std::optional<Arena::Position> position = arena_.position();
  if (stretch == nullptr || !position.has_value() || !may_record_) return absl::OkStatus();
  stretch->before = *position;
  stretch->overwrites = false;
  NoteSources(*stretch, frame);
  NoteTargets(*stretch, frame);
  AMP_RETURN_IF_ERROR(device_.StartRecording());
  recorded_ = stretch;
  return absl::OkStatus();
}

absl::Status GraphReplay::Behind(size_t at, bool is_clean, const DeviceFrame& frame) {
  if (mode_ == Mode::kNotes) is_clean_[at] = is_clean;
  if (recorded_ == nullptr || recorded_->end != at + 1) return absl::OkStatus();
  Stretch& stretch = *recorded_;
  absl::StatusOr<std::unique_ptr<CapturedGraph>> stopped = device_.StopRecording();
  recorded_ = nullptr;
  AMP_ASSIGN_OR_RETURN(std::unique_ptr<CapturedGraph> recording, std::move(stopped));
  const std::optional<Arena::Position> position = arena_.position();
  if (!position.has_value()) return Cancelled("memory that is not planned");
  stretch.after = *position;
  AMP_RETURN_IF_ERROR(NoteResults(stretch, frame));
  stretch.recording = std::move(recording);
  ++num_recordings_;
  return Launch(stretch);
}

bool GraphReplay::MayBeginAgainBehind(size_t at) const {
  return mode_ == Mode::kReplays &&
         std::any_of(stretches_.begin(), stretches_.end(), [&](const Stretch& stretch) { return stretch.first > at; });
}

void GraphReplay::End(const absl::Status& status) {
  if (std::exchange(recorded_, nullptr) != nullptr) device_.DropRecording();
  places_ = nullptr;
  if (absl::IsCancelled(status) || num_recordings_ > kMostRecordings) {
    mode_ = Mode::kOff;
    stretches_.clear();
  } else if (status.ok() && mode_ == Mode::kNotes) {
    FindStretches();
    mode_ = stretches_.empty() ? Mode::kOff : Mode::kReplays;
  }
}

// ---- what a stretch reads and writes --------------------------------------------------------------------------------

void GraphReplay::NoteSources(Stretch& stretch, const DeviceFrame& frame) const {
  stretch.sources.clear();
  stretch.defaults.clear();
  for (size_t i = stretch.first; i < stretch.end; ++i) {
    ForEachPart(instructions()[i], [&](const Instruction& part) {
      for (const ValueId input : part.inputs) {
        if (input == kNone) continue;
        if (program_.constants[input].tensor() != nullptr) {
          stretch.defaults.push_back({input, HasOwnConstant(input, frame)});
        }
        const Tensor* const tensor = frame.FindOnDevice(input);
        if (tensor == nullptr) continue;
        stretch.sources.push_back({input, tensor->data(), tensor->dtype(), tensor->layout(), tensor->dims()});
      }
    });
  }
}

void GraphReplay::NoteTargets(Stretch& stretch, const DeviceFrame& frame) const {
  const auto is_output = [&](ValueId value) {
    const auto& uses = model_.value(value).uses;
    return std::any_of(uses.begin(), uses.end(), [](const Use& use) { return use.IsModelOutput(); });
  };
  absl::flat_hash_map<const void*, int> holders = CountHolders(frame);
  stretch.targets.clear();
  for (size_t i = stretch.first; i < stretch.end; ++i) {
    for (const ValueId output : instructions()[i].outputs) {
      if (output == kNone || !is_output(output)) continue;
      Target target = {.output = output, .place = std::nullopt, .holders = 0};
      if (const Tensor* const place = PlaceOf(output)) {
        target.place = Source{output, place->data(), place->dtype(), place->layout(), place->dims()};
        target.holders = holders[place->data()];
      }
      stretch.targets.push_back(std::move(target));
    }
  }
}

absl::StatusOr<GraphReplay::Result> GraphReplay::ResultOf(const Stretch& stretch, ValueId value,
                                                          const Datum& datum) const {
  const Tensor* const tensor = datum.tensor();
  if (tensor == nullptr) return Cancelled("a value that is no tensor");
  Result result = {.value = value,
                   .dtype = tensor->dtype(),
                   .layout = tensor->layout(),
                   .dims = tensor->dims(),
                   .on_host = std::nullopt};
  if (tensor->IsOnHost()) {
    AMP_ASSIGN_OR_RETURN(result.on_host, OnHeap(*tensor));
    return result;
  }
  const std::optional<size_t> block = arena_.BlockAt(tensor->data(), stretch.after);
  if (block.has_value() && *block >= stretch.before.next_block) {
    result.block = *block;
    return result;
  }
  for (const Source& source : stretch.sources) {
    if (source.data == tensor->data() && source.data != nullptr) result.lies_in = source.value;
  }
  if (result.lies_in == kNone) return Cancelled("a value in memory that is not planned");
  return result;
}

absl::Status GraphReplay::NoteResults(Stretch& stretch, const DeviceFrame& frame) const {
  stretch.results.clear();
  for (size_t i = stretch.first; i < stretch.end; ++i) {
    for (const ValueId output : instructions()[i].outputs) {
      if (output == kNone || frame[output].IsEmpty()) continue;
      AMP_ASSIGN_OR_RETURN(Result result, ResultOf(stretch, output, frame[output]));
      stretch.results.push_back(std::move(result));
    }
  }
  // Values made before the stretch whose layout it has converted are results, too.
  for (const Source& source : stretch.sources) {
    const Tensor* const present = frame[source.value].tensor();
    if (present == nullptr || present->IsOnHost() || present->layout() == source.layout) continue;
    AMP_ASSIGN_OR_RETURN(Result result, ResultOf(stretch, source.value, frame[source.value]));
    stretch.results.push_back(std::move(result));
  }
  return absl::OkStatus();
}

absl::Status GraphReplay::SetResults(const Stretch& stretch, DeviceFrame& frame) {
  std::vector<std::pair<ValueId, Datum>> made;
  absl::flat_hash_map<size_t, Tensor> by_block;
  for (const Result& result : stretch.results) {
    if (result.on_host.has_value()) {
      made.emplace_back(result.value, *result.on_host);
      continue;
    }
    const Tensor* tensor = result.lies_in == kNone ? nullptr : frame.FindOnDevice(result.lies_in);
    if (tensor == nullptr) {
      const auto [found, is_new] = by_block.try_emplace(result.block);
      if (is_new) {
        OneBlock block(arena_.Revive(result.block), arena_);
        AMP_ASSIGN_OR_RETURN(found->second, Tensor::Create(result.dtype, result.dims, &block));
      }
      tensor = &found->second;
    }
    Tensor seen = tensor->Reinterpreted(result.dtype).Reshaped(result.dims);
    seen.set_layout(result.layout);
    made.emplace_back(result.value, std::move(seen));
  }
  by_block.clear();
  for (auto& [value, datum] : made) frame.Set(value, std::move(datum));
  made.clear();
  for (size_t i = stretch.first; i < stretch.end; ++i) {
    ForEachPart(instructions()[i], [&](const Instruction& part) {
      for (const ValueId value : part.frees) frame.Free(value);
    });
  }
  arena_.GoOnFrom(stretch.after);
  return absl::OkStatus();
}

GraphReplay& GraphReplays::Of(const Model& model, const Program& program, Accelerator& device, Arena& arena,
                              const std::vector<int64_t>& key) {
  const absl::MutexLock lock(&mutex_);
  std::list<Kept>& kept = runs_[&arena];
  auto found = std::find_if(kept.begin(), kept.end(), [&](const Kept& each) { return each.key == key; });
  if (found == kept.end()) {
    if (kept.size() == kMostKept) kept.pop_back();
    kept.push_front({key, std::make_unique<GraphReplay>(model, program, device, arena)});
    found = kept.begin();
  }
  kept.splice(kept.begin(), kept, found);
  return *kept.front().run;
}

}  // namespace amp
