#include "runtime/session.h"

#include <algorithm>
#include <optional>
#include <utility>

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
#include "runtime/run/run_main_graph.h"
#include "runtime/run/session_device.h"
#include "runtime/run/value_frame.h"

namespace amp {
namespace {

// Bodies may need bodies in turn; ONNX's own are three deep at most.
constexpr int kMaxBodyDepth = 8;

constexpr size_t kLargestMoved = 8;  // bytes of an element that devices copy from one place to another

constexpr absl::string_view kTrainingDomain = "ai.amp";

// Whether a kernel for a function is to be used instead of its body. On a device only the device's own kernels are, as
// it has kernels for the nodes of the body; kernels through which ranks talk are used if there are ranks.
bool IsBetterThanBody(const KernelRow& row, const SessionOptions& options) {
  return options.device == nullptr || (row.joins_ranks ? options.ranks != nullptr : row.runs_on_device);
}

// The model's functions that have a kernel, as "ai.amp::Rmsprop". A model that is no training step may have functions
// of its own under these names: their bodies are run.
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

bool HasFunctions(const onnx::ModelProto& model) {
  bool has_any = false;
  ForEachFunction(model, [&](absl::string_view, absl::string_view) { has_any = true; });
  return has_any;
}

absl::StatusOr<std::unique_ptr<Model>> MakeModel(LoadedFile file, const SessionOptions& options) {
  const std::vector<std::string> fused = FusedFunctions(*file.model, options);
  for (int depth = 0;; ++depth) {
    // Inlining may copy the message, and validates it.
    if (HasFunctions(*file.model)) AMP_RETURN_IF_ERROR(ReadPayloadsInFile(file));
    const Weights weights = file.weights();
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

std::vector<std::string> NamesOf(const Model& model, const std::vector<ValueId>& values) {
  std::vector<std::string> names;
  names.reserve(values.size());
  for (const ValueId value : values) names.push_back(model.value(value).name);
  return names;
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

// The names of the inputs that a caller gives and that have no default. States have a default.
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

}  // namespace

struct Session::State {
  SessionOptions options;                 // first, as all else may hold memory of its device
  int threads = 1;                        // found out once: asking the system takes longer than a small run
  std::unique_ptr<SessionDevice> device;  // null: the processor alone
  std::unique_ptr<Model> model;
  Program program;
  std::vector<ValueId> inputs;
  ArenaPool arenas;
  SharedTensors shared;
};

SessionOptions OneByOne(SessionOptions options) {
  options.fold_constants = options.fold_batch_norms = false;
  options.fuse_epilogues = options.fuse_norms = options.fuse_attention = options.fuse_chains = false;
  options.fuse_training = options.free_packed_weights = false;
  return options;
}

absl::StatusOr<std::unique_ptr<Session>> Session::Create(const std::string& path, const SessionOptions& options) {
  return Fenced(path, [&]() -> absl::StatusOr<std::unique_ptr<Session>> {
    AMP_ASSIGN_OR_RETURN(LoadedFile file, LoadModel(path, {.limits = options.limits, .payloads = Payloads::kInFile}));
    return Create(std::move(file), options);
  });
}

absl::StatusOr<std::unique_ptr<Session>> Session::Create(LoadedFile file, const SessionOptions& stated) {
  if (stated.flush_subnormals && !FloatMode::kCanFlush) {
    return UsageError("flush_subnormals: expected an x86 processor, found another");
  }
  auto state = std::make_unique<State>();
  SessionOptions& options = state->options = stated;
  state->threads = options.threads > 0 ? options.threads : UsableThreads();
  if (options.device != nullptr) state->device = MakeSessionDevice(options);
  const SessionDevice* const device = state->device.get();
  if (options.find_kernels == nullptr) options.find_kernels = device == nullptr ? FindAllKernels : device->kernels();
  const std::shared_ptr<const PayloadsInFile> in_file = file.in_file;
  AMP_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, MakeModel(std::move(file), options));
  // Before IR version 4 every initializer had to be an input too: that it is says nothing.
  if (model->ir_version() < kInitializersNeedNoInput) model->FreezeInitializers();
  if (options.fold_batch_norms) AMP_RETURN_IF_ERROR(FoldBatchNorms(*model));
  AMP_ASSIGN_OR_RETURN(Program program, MakeProgram(*model, options.find_kernels, device != nullptr));
  if (in_file != nullptr) AMP_RETURN_IF_ERROR(in_file->CheckUnchanged());
  model->weights().ForgetFile();
  if (options.fold_constants) FoldConstants(*model, program);
  const FusionRules rules = device == nullptr ? ProcessorFusionRules() : device->fusion_rules();
  FinishProgram(*model, FindFusions(*model, NodesThatRun(*model, program), options, rules), program);
  if (options.free_packed_weights && device == nullptr) DropConstants(*model, program);
  if (options.strict) AMP_RETURN_IF_ERROR(RefuseWidened(*model, program));
  if (device != nullptr) PlaceInstructions(*model, program);
  state->model = std::move(model);
  state->program = std::move(program);
  for (const ValueId input : state->model->graph(kMainGraph).inputs) {
    if (state->program.constants[input].IsEmpty()) state->inputs.push_back(input);
  }
  return std::unique_ptr<Session>(new Session(std::move(state)));
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::~Session() {
  const std::unique_ptr<SessionDevice> device = std::move(state_->device);
  if (device != nullptr) device->Release([&] { state_ = nullptr; });
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
    const SessionDevice* const device = state_->device.get();
    if (!datum.tensor()->IsOnHost() && (device == nullptr || !device->Has(*datum.tensor()))) {
      return UsageError("input '", Escaped(name), "': it lies in the memory of another device than the session's");
    }
  }
  return absl::OkStatus();
}

size_t Session::ActivationBytes() const {
  return state_->arenas.PlannedBytes() + (state_->device == nullptr ? 0 : state_->device->ActivationBytes());
}

size_t Session::LargestLiveBytes() const {
  return state_->arenas.LargestLiveBytes() + (state_->device == nullptr ? 0 : state_->device->LargestLiveBytes());
}

std::string Session::DeviceName() const { return state_->device == nullptr ? "cpu" : state_->device->name(); }

CopyCounts Session::LastCopies() const {
  return state_->device == nullptr ? CopyCounts() : state_->device->LastCopies();
}

int64_t Session::DeviceConstantBytes() const { return state_->device == nullptr ? 0 : state_->device->ConstantBytes(); }

absl::Status Session::CheckOutputBuffers(const NamedDatums& places) const {
  const std::vector<std::string> names = OutputNames();
  for (const auto& [name, datum] : places) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return UsageError("'", Escaped(name), "' is no output of the model, which has ", QuotedFirstOf(names));
    }
    const Tensor* const tensor = datum.tensor();
    const bool is_there = tensor != nullptr && ElementBytes(tensor->dtype()) <= kLargestMoved &&
                          state_->device != nullptr && (state_->device->Has(*tensor) || tensor->num_elements() == 0);
    if (!is_there) return UsageError("output '", Escaped(name), "': expected a place on the session's device");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Datum>> Session::Run(const NamedDatums& inputs, const RunOptions& options) const {
  return Fenced("", [&]() -> absl::StatusOr<std::vector<Datum>> {
    AMP_RETURN_IF_ERROR(CheckRun(inputs, options));
    std::vector<Datum> ordered;
    for (const ValueId input : model().graph(kMainGraph).inputs) {
      const auto it = inputs.find(model().value(input).name);
      ordered.push_back(it == inputs.end() ? state_->program.constants[input] : it->second);
    }
    return RunOrdered(std::move(ordered), options);
  });
}

absl::StatusOr<std::vector<Datum>> Session::Run(NamedDatums&& inputs, const RunOptions& options) const {
  return Fenced("", [&]() -> absl::StatusOr<std::vector<Datum>> {
    AMP_RETURN_IF_ERROR(CheckRun(inputs, options));
    std::vector<Datum> ordered;
    for (const ValueId input : model().graph(kMainGraph).inputs) {
      const auto it = inputs.find(model().value(input).name);
      ordered.push_back(it == inputs.end() ? state_->program.constants[input] : std::move(it->second));
    }
    inputs.clear();
    return RunOrdered(std::move(ordered), options);
  });
}

absl::Status Session::CheckRun(const NamedDatums& inputs, const RunOptions& options) const {
  AMP_RETURN_IF_ERROR(CheckInputs(inputs));
  return options.output_buffers == nullptr ? absl::OkStatus() : CheckOutputBuffers(*options.output_buffers);
}

absl::StatusOr<std::vector<Datum>> Session::RunOrdered(std::vector<Datum> inputs, const RunOptions& options) const {
  if (state_->device == nullptr) return RunOnce(std::move(inputs), options);
  absl::StatusOr<std::vector<Datum>> outputs = RunOnce(inputs, options);
  const bool is_lost_recording = absl::IsCancelled(outputs.status());
  return is_lost_recording ? RunOnce(std::move(inputs), options) : outputs;
}

absl::StatusOr<std::vector<Datum>> Session::RunOnce(std::vector<Datum> inputs, const RunOptions& options) const {
  for (Datum& input : inputs) {  // a caller may have changed what an earlier run gave
    if (Tensor* const tensor = input.mutable_tensor()) tensor->set_magnitude_bound(Tensor::kUnbounded);
  }
  RunResources resources{.random = RunRandom(options.seed.value_or(state_->options.seed)),
                         .max_loop_iterations = state_->options.max_loop_iterations,
                         .shared = &state_->shared,
                         .allows_bfloat16 = state_->options.allow_bfloat16,
                         .allows_tf32 = state_->options.allow_tf32,
                         .is_strict = state_->options.strict};
  const onednn::Library* const library = onednn::OpenLibrary().library;
  if (library != nullptr) onednn::SetThreadsOf(*library, state_->threads);
  const TeamScope team(library);
  const onednn::RunScope run(library);
  std::optional<FlushScope> flushes;
  if (state_->options.flush_subnormals) flushes.emplace(library);
  std::optional<MeansOverRanks> means;
  if (state_->options.ranks != nullptr && state_->options.ranks->size() > 1) {
    resources.means = &means.emplace(*state_->options.ranks);
  }
  ArenaLease arena(state_->arenas, ShapeKey(inputs));
  // Observers and witnesses may keep values beyond the run, and so beyond the arena.
  if (options.observer == nullptr && options.witness == nullptr) resources.memory = &arena.arena();
  MainCall call = {model(), state_->program, resources, arena.arena(), options, std::move(inputs)};
  if (state_->device != nullptr) return state_->device->Run(std::move(call));
  ValueFrame frame(state_->program.constants, resources.memory);
  Execution execution(model(), state_->program, resources, frame);
  return RunMainGraph(execution, call);
}

}  // namespace amp
