#include "runtime/session.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "ir/base/fenced.h"
#include "ir/base/status.h"
#include "ir/file/model_file.h"
#include "ir/file/model_walk.h"
#include "ir/functions/inline_by_mode.h"
#include "ir/functions/schema_functions.h"
#include "ir/graph/graph.h"
#include "ir/graph/infer.h"
#include "ir/graph/metadata.h"
#include "ir/graph/shape.h"
#include "ir/graph/tensor_content.h"
#include "runtime/device/accelerator.h"
#include "runtime/hardware/usable_threads.h"
#include "runtime/kernel/float_mode.h"
#include "runtime/onednn/open_library.h"
#include "runtime/parallel/means_over_ranks.h"
#include "runtime/plan/all_kernels.h"
#include "runtime/plan/fold_batch_norms.h"
#include "runtime/plan/fold_constants.h"
#include "runtime/plan/fuse.h"
#include "runtime/plan/place_instructions.h"
#include "runtime/plan/program.h"
#include "runtime/plan/widened.h"
#include "runtime/run/arena.h"
#include "runtime/run/check_input.h"
#include "runtime/run/execution.h"
#include "runtime/run/replay_run.h"
#include "runtime/run/value_frame.h"

namespace amp {
namespace {

// Bodies may need bodies in turn; ONNX's own are three deep at most.
constexpr int kMaxBodyDepth = 8;

constexpr size_t kLargestMoved = 8;  // bytes of an element that devices copy from one place to another

constexpr absl::string_view kTrainingDomain = "ai.amp";

// Whether what a kernel computes for a function is better than its body: on a device, only where the kernel is the
// device's, as that has kernels for what bodies are made of; or where ranks speak to each other.
bool IsBetterThanBody(const KernelRow& row, const SessionOptions& options) {
  return options.device == nullptr || (row.joins_ranks ? options.reduction != nullptr : row.runs_on_device);
}

// "ai.amp::Rmsprop", of the model's functions those that have a kernel. What is no step of training may have functions of
// its own under these names: their bodies count.
std::vector<std::string> FusedFunctions(const onnx::ModelProto& model, const SessionOptions& options) {
  std::vector<std::string> functions;
  if (!options.fuse_training || !FindMetadata(model, kStateKey).has_value()) return functions;
  ForEachFunction(model, [&](absl::string_view domain, absl::string_view name) {
    constexpr int kFirstVersion = 1;
    if (domain != kTrainingDomain) return;
    const std::vector<const KernelRow*> rows = options.find_kernels(domain, name, kFirstVersion);
    const bool is_fused =
        std::any_of(rows.begin(), rows.end(), [&](const KernelRow* row) { return IsBetterThanBody(*row, options); });
    if (is_fused) functions.push_back(absl::StrCat(domain, "::", name));
  });
  return functions;
}

absl::StatusOr<std::unique_ptr<Model>> MakeModel(LoadedFile file, const SessionOptions& options) {
  const Weights weights = file.weights();
  const std::vector<std::string> fused = FusedFunctions(*file.model, options);
  for (int depth = 0;; ++depth) {
    AMP_RETURN_IF_ERROR(
        InlineByMode(file.arena, *file.model, FunctionMode::kInlineAll, options.limits, fused).status());
    AMP_ASSIGN_OR_RETURN(std::unique_ptr<Model> model,
                         Model::Create(std::move(file.arena), file.model, nullptr, weights));
    InferTypes(*model);
    const auto lacks_kernel = [&](NodeId node) { return LacksKernel(*model, node, options.find_kernels); };
    if (depth == kMaxBodyDepth || CallSchemaFunctions(*model, lacks_kernel) == 0) return model;
    model->Commit();
    file.arena = model->ReleaseArena();
  }
}

// The program has the constants: the model need not hold large ones too.
void ReleaseConstants(Model& model, const Program& program) {
  constexpr size_t kLargeBytes = 64 << 10;
  for (const ValueId id : model.AllValues()) {
    const Tensor* constant = program.constants[id].tensor();
    if (constant != nullptr && constant->size_bytes() > kLargeBytes) ReleaseInitializer(model, id);
  }
}

// What the sizes of a run's tensors depend on, as far as that is known.
std::vector<int64_t> ShapeKey(const std::vector<Datum>& inputs) {
  std::vector<int64_t> key;
  for (const Datum& input : inputs) {
    const Tensor* tensor = input.tensor();
    key.push_back(tensor == nullptr ? -1 : static_cast<int64_t>(tensor->rank()));
    if (tensor != nullptr) key.insert(key.end(), tensor->dims().begin(), tensor->dims().end());
  }
  return key;
}

// Copies to the heap what lies in the arena.
absl::Status MoveOut(const Arena& arena, Datum& datum) {
  if (const Tensor* tensor = datum.tensor(); tensor != nullptr) {
    const bool is_own = tensor->dtype() == DType::kString || !tensor->IsOnHost();  // or left on a device, in its place
    if (is_own || !arena.Owns(tensor->data())) return absl::OkStatus();
    AMP_ASSIGN_OR_RETURN(Tensor copy, Tensor::Create(tensor->dtype(), tensor->dims()));
    std::copy(tensor->bytes().begin(), tensor->bytes().end(), copy.mutable_bytes().begin());
    datum = Datum(std::move(copy));
  } else if (const Sequence* sequence = datum.sequence(); sequence != nullptr) {
    Sequence copy = *sequence;
    for (Datum& element : copy.elements) AMP_RETURN_IF_ERROR(MoveOut(arena, element));
    datum = Datum(std::move(copy));
  } else if (const Map* map = datum.map(); map != nullptr) {
    Datum keys(map->keys), values(map->values);
    AMP_RETURN_IF_ERROR(MoveOut(arena, keys));
    AMP_RETURN_IF_ERROR(MoveOut(arena, values));
    datum = Datum(Map{*keys.tensor(), *values.tensor()});
  }
  return absl::OkStatus();
}

// What a run failed with, and whether states are no longer what they were.
absl::Status WithLoss(const absl::Status& status, const Execution& execution) {
  if (absl::IsCancelled(status) || !execution.HasOverwritten()) return status;
  absl::Status lost(status.code(), absl::StrCat(status.message(), "; what it was writing over is lost"));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) { lost.SetPayload(url, payload); });
  return lost;
}

std::vector<std::string> NamesOf(const Model& model, const std::vector<ValueId>& values) {
  std::vector<std::string> names;
  names.reserve(values.size());
  for (const ValueId value : values) names.push_back(model.value(value).name);
  return names;
}

SessionOptions Completed(SessionOptions options) {
  if (options.find_kernels == nullptr) {
    options.find_kernels = options.device == nullptr ? FindAllKernels : FindAllKernelsAndDevices;
  }
  return options;
}

// The threads of a run compute with zeros instead of subnormal numbers, as long as this lives.
class FlushScope {
 public:
  explicit FlushScope(const onednn::Library* library) : library_(library) {
    before_.Flushing().Set();
    Share();
  }
  ~FlushScope() {
    before_.Set();
    Share();
  }
  FlushScope(const FlushScope&) = delete;
  FlushScope& operator=(const FlushScope&) = delete;

 private:
  void Share() const {
    if (library_ != nullptr) library_->ShareFloatMode();
  }

  const onednn::Library* library_;
  const FloatMode before_;
};

// Of inputs that a caller gives, without those that have a default, as states have.
std::string GivenNames(const Model& model, const Program& program, const NamedDatums& inputs) {
  std::vector<std::string> names;
  for (const auto& [name, unused] : inputs) {
    const auto it = model.graph(kMainGraph).names.find(name);
    const bool has_default = it != model.graph(kMainGraph).names.end() && !program.constants[it->second].IsEmpty();
    if (!has_default) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return QuotedFirstOf(names);
}

// A run's time on its device: beside others, or alone, where it records.
class DeviceTurn {
 public:
  DeviceTurn(Accelerator* device, bool is_alone) ABSL_NO_THREAD_SAFETY_ANALYSIS : device_(device), is_alone_(is_alone) {
    if (device_ == nullptr) return;
    is_alone_ ? device_->order().Lock() : device_->order().ReaderLock();
  }
  ~DeviceTurn() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (device_ == nullptr) return;
    is_alone_ ? device_->order().Unlock() : device_->order().ReaderUnlock();
  }
  DeviceTurn(const DeviceTurn&) = delete;
  DeviceTurn& operator=(const DeviceTurn&) = delete;

 private:
  Accelerator* const device_;
  const bool is_alone_;
};

}  // namespace

struct Session::State {
  explicit State(const SessionOptions& options) : options(options), device_arenas(options.device.get()) {}

  SessionOptions options;  // first, as all else may hold memory of its device
  std::unique_ptr<Model> model;
  Program program;
  std::vector<ValueId> inputs;
  mutable ArenaPool arenas;
  mutable ArenaPool device_arenas;  // with a device
  mutable DeviceConstants device_constants;
  mutable SharedTensors shared;
  mutable ReplayRuns replays;
  mutable absl::Mutex mutex;
  mutable CopyCounts last_copies ABSL_GUARDED_BY(mutex);
};

SessionOptions OneByOne(SessionOptions options) {
  options.fold_constants = options.fold_batch_norms = false;
  options.fuse_epilogues = options.fuse_norms = options.fuse_attention = options.fuse_chains = false;
  options.fuse_training = false;
  return options;
}

absl::StatusOr<std::unique_ptr<Session>> Session::Create(const std::string& path, const SessionOptions& options) {
  return Fenced(path, [&]() -> absl::StatusOr<std::unique_ptr<Session>> {
    AMP_ASSIGN_OR_RETURN(LoadedFile file, LoadModel(path, {.limits = options.limits}));
    return Create(std::move(file), options);
  });
}

absl::StatusOr<std::unique_ptr<Session>> Session::Create(LoadedFile file, const SessionOptions& stated) {
  const SessionOptions options = Completed(stated);
  if (options.flush_subnormals && !FloatMode::kCanFlush) {
    return UsageError("flush_subnormals: expected an x86 processor, found another");
  }
  AMP_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, MakeModel(std::move(file), options));
  // Before IR version 4 every initializer had to be an input too: that it is says nothing.
  if (model->ir_version() < kInitializersNeedNoInput) model->FreezeInitializers();
  if (options.fold_batch_norms) AMP_RETURN_IF_ERROR(FoldBatchNorms(*model));
  AMP_ASSIGN_OR_RETURN(Program program, MakeProgram(*model, options.find_kernels));
  if (options.fold_constants) FoldConstants(*model, program);
  FinishProgram(*model, FindFusions(*model, NodesThatRun(*model, program), options), program);
  if (options.strict) AMP_RETURN_IF_ERROR(RefuseWidened(*model, program));
  if (options.device != nullptr) PlaceInstructions(*model, program);
  ReleaseConstants(*model, program);
  auto state = std::make_unique<State>(options);
  state->model = std::move(model);
  state->program = std::move(program);
  for (const ValueId input : state->model->graph(kMainGraph).inputs) {
    if (state->program.constants[input].IsEmpty()) state->inputs.push_back(input);
  }
  return std::unique_ptr<Session>(new Session(std::move(state)));
}

Session::Session(std::unique_ptr<const State> state) : state_(std::move(state)) {}
Session::~Session() {
  if (state_ == nullptr) return;
  const std::shared_ptr<Accelerator> device = state_->options.device;
  const DeviceTurn turn(device.get(), false);  // memory is given back, which what another session records cannot have
  state_.reset();
}

const Model& Session::model() const { return *state_->model; }
const Program& Session::program() const { return state_->program; }
const std::vector<ValueId>& Session::inputs() const { return state_->inputs; }
const std::vector<ValueId>& Session::outputs() const { return model().graph(kMainGraph).outputs; }
std::vector<std::string> Session::InputNames() const { return NamesOf(model(), inputs()); }
std::vector<std::string> Session::OutputNames() const { return NamesOf(model(), outputs()); }

absl::Status Session::CheckInputs(const NamedDatums& inputs) const {
  for (const ValueId input : this->inputs()) {
    const std::string& name = model().value(input).name;
    if (inputs.contains(name) || model().value(input).uses.empty()) continue;
    return UsageError("expected input '", Escaped(name), "', found ", GivenNames(model(), program(), inputs));
  }
  for (const auto& [name, datum] : inputs) {
    const auto& names = model().graph(kMainGraph).names;
    const auto it = names.find(name);
    if (it == names.end() || !model().value(it->second).is_graph_input) {
      return UsageError("'", Escaped(name), "' is no input of the model, which has ", QuotedFirstOf(InputNames()));
    }
    AMP_RETURN_IF_ERROR(CheckInput(model(), it->second, datum));
    if (datum.tensor() == nullptr) continue;
    const Accelerator* const device = state_->options.device.get();
    if (!datum.tensor()->IsOnHost() && (device == nullptr || !device->Has(*datum.tensor()))) {
      return UsageError("input '", Escaped(name), "': it lies in the memory of another device than the session's");
    }
  }
  return absl::OkStatus();
}

size_t Session::ActivationBytes() const { return state_->arenas.PlannedBytes() + state_->device_arenas.PlannedBytes(); }

size_t Session::LargestLiveBytes() const {
  return state_->arenas.LargestLiveBytes() + state_->device_arenas.LargestLiveBytes();
}

std::string Session::DeviceName() const {
  return state_->options.device == nullptr ? "cpu" : state_->options.device->name();
}

CopyCounts Session::LastCopies() const {
  const absl::MutexLock lock(&state_->mutex);
  return state_->last_copies;
}

int64_t Session::DeviceConstantBytes() const { return state_->device_constants.size_bytes(); }

absl::Status Session::CheckPlaces(const NamedDatums& places) const {
  const std::vector<std::string> names = OutputNames();
  for (const auto& [name, datum] : places) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return UsageError("'", Escaped(name), "' is no output of the model, which has ", QuotedFirstOf(names));
    }
    const Tensor* const tensor = datum.tensor();
    const bool is_there = tensor != nullptr && ElementBytes(tensor->dtype()) <= kLargestMoved &&
                          state_->options.device != nullptr &&
                          (state_->options.device->Has(*tensor) || tensor->num_elements() == 0);
    if (!is_there) return UsageError("output '", Escaped(name), "': expected a place on the session's device");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Datum>> Session::Run(const NamedDatums& inputs, const RunOptions& options) const {
  return Fenced("", [&]() -> absl::StatusOr<std::vector<Datum>> {
    AMP_RETURN_IF_ERROR(CheckInputs(inputs));
    if (options.places != nullptr) AMP_RETURN_IF_ERROR(CheckPlaces(*options.places));
    absl::StatusOr<std::vector<Datum>> outputs = RunOnce(inputs, options);
    return absl::IsCancelled(outputs.status()) ? RunOnce(inputs, options) : outputs;
  });
}

absl::StatusOr<std::vector<Datum>> Session::RunOnce(const NamedDatums& inputs, const RunOptions& options) const {
  RunResources resources{.random = std::mt19937_64(options.seed.value_or(state_->options.seed)),
                         .max_loop_iterations = state_->options.max_loop_iterations,
                         .shared = &state_->shared,
                         .allows_bfloat16 = state_->options.allow_bfloat16,
                         .allows_tf32 = state_->options.allow_tf32,
                         .is_strict = state_->options.strict};
  const onednn::Library* const library = onednn::OpenLibrary().library;
  if (library != nullptr) {
    onednn::SetThreadsOf(*library, state_->options.threads > 0 ? state_->options.threads : UsableThreads());
  }
  const TeamScope team(library);
  std::optional<FlushScope> flushes;
  if (state_->options.flush_subnormals) flushes.emplace(library);
  std::optional<MeansOverRanks> means;
  if (state_->options.reduction != nullptr && state_->options.reduction->size() > 1) {
    resources.means = &means.emplace(*state_->options.reduction);
  }
  std::vector<Datum> ordered;
  for (const ValueId input : model().graph(kMainGraph).inputs) {
    const auto it = inputs.find(model().value(input).name);
    ordered.push_back(it == inputs.end() ? state_->program.constants[input] : it->second);
  }
  ArenaLease arena(state_->arenas, ShapeKey(ordered));
  // What observers keep outlives the run.
  if (options.observer == nullptr) resources.memory = &arena.arena();
  DevicePlace place;
  std::optional<ArenaLease> device_arena;
  ReplayRun* replay = nullptr;
  if (resources.device = state_->options.device.get(); resources.device != nullptr) {
    const DeviceTurn turn(resources.device, false);  // leases may allocate, which what another run records cannot have
    place = {.device = resources.device,
             .memory = &device_arena.emplace(state_->device_arenas, ShapeKey(ordered)).arena(),
             .constants = &state_->device_constants};
    resources.device_constants = &state_->device_constants;
    const bool may_replay = state_->options.replay && resources.device->CanRecord() && options.observer == nullptr &&
                            options.timings == nullptr && (resources.means == nullptr || resources.device->HasRanks());
    if (may_replay) {
      replay =
          &state_->replays.Of(model(), state_->program, *resources.device, device_arena->arena(), ShapeKey(ordered));
    }
  }
  const DeviceTurn turn(resources.device, replay != nullptr && replay->WillRecord());
  if (replay != nullptr) replay->Start(options.places);
  Execution execution(model(), state_->program, resources, place);
  execution.Observe(options.observer);
  execution.Time(options.timings);
  execution.Replay(replay);
  execution.Place(options.places);
  execution.Show(options.shown);
  const absl::Status out_of_memory = OutOfMemory();  // made now, while there is some
  try {
    absl::StatusOr<std::vector<Datum>> outputs = execution.Run(kMainGraph, std::move(ordered));
    if (replay != nullptr) replay->End(outputs.status());
    if (!outputs.ok()) return WithLoss(outputs.status(), execution);
    for (Datum& output : *outputs) {
      const absl::Status moved = MoveOut(arena.arena(), output);
      if (!moved.ok()) return WithLoss(moved, execution);
    }
    const absl::MutexLock lock(&state_->mutex);
    state_->last_copies = execution.copies();
    return outputs;
  } catch (const std::bad_alloc&) {
    if (replay != nullptr) replay->End(out_of_memory);
    return WithLoss(out_of_memory, execution);
  }
}

}  // namespace amp
