#include "tools/library/trainer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ir/base/fenced.h"
#include "ir/base/status.h"
#include "ir/file/forget_seeds.h"
#include "ir/file/model_file.h"
#include "ir/file/save.h"
#include "ir/file/set_initializer.h"
#include "ir/functions/cut_model.h"
#include "ir/graph/graph.h"
#include "passes/train/mean_over_ranks.h"
#include "passes/train/step_metadata.h"
#include "passes/undo/undo_rewrite.h"
#include "runtime/device_run/use_device.h"
#include "runtime/parallel/rank_group.h"
#include "runtime/plan/program.h"
#include "tools/library/checkpoint.h"
#include "tools/library/file_uses.h"
#include "tools/library/find_origin.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace amp {
namespace {

constexpr size_t kNoPort = static_cast<size_t>(-1);

// Far apart for steps next to each other. Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators"
// (2014), the finalizer of SplitMix64.
uint64_t SeedOfStep(uint64_t seed, int64_t step) {
  uint64_t z = seed + 0x9e3779b97f4a7c15 * (static_cast<uint64_t>(step) + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

uint64_t SeedOfRank(const SessionOptions& options) {
  constexpr uint64_t kOdd = 0xd1342543de82ef95;
  const int rank = options.ranks == nullptr ? 0 : options.ranks->rank();
  return options.seed + kOdd * static_cast<uint64_t>(rank);
}

// A step that averages nothing would train every rank on its own.
absl::Status CheckReduction(const Session& session, const SessionOptions& options) {
  if (options.ranks == nullptr || options.ranks->size() == 1) return absl::OkStatus();
  const auto& block = session.program().blocks[kMainGraph];
  const bool averages = std::any_of(block.begin(), block.end(), [&](const Instruction& instruction) {
    return session.model().node(instruction.node).op_type() == kMeanOverRanks;
  });
  if (averages) return absl::OkStatus();
  return UsageError("expected a step graph made by amp-rewrite --train --data-parallel, as there are ",
                    options.ranks->size(), " ranks; found one that does not average over ranks");
}

absl::StatusOr<std::string> HashOf(const LoadedFile& file, const std::string& bytes) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  if (file.original == nullptr) {
    XXH3_64bits_update(&state, bytes.data(), bytes.size());
  } else {
    AMP_RETURN_IF_ERROR(file.CopyOriginal([&](absl::string_view part) {
      XXH3_64bits_update(&state, part.data(), part.size());
      return absl::OkStatus();
    }));
  }
  return absl::StrFormat("%016x", XXH3_64bits_digest(&state));
}

constexpr absl::string_view kStepGraph = "the step graph";

// `flag`: what writes the file, for messages.
absl::Status CheckMayWrite(FileUses files, const std::string& flag, const std::string& path, FileKind kind,
                           Overwrite overwrite) {
  files.writes.push_back({flag, path, kind});
  files.force = overwrite == Overwrite::kAnyKind;
  return CheckFileUses(files);
}

bool IsTrained(const StepState& state) { return state.kind == StateKind::kWeight || state.kind == StateKind::kRunning; }

}  // namespace

struct Trainer::Content {
  std::string path, bytes;  // of the step graph: one of them
  FileUses files;
  SessionOptions options;
  StepDescription step;
  std::string hash;
  std::unique_ptr<Session> session;
  NamedDatums inputs;                      // states, on the device if there is one, and learning rate
  NamedDatums places;                      // with a device: by output, the states
  absl::flat_hash_set<std::string> shown;  // of these outputs, those that the processor looks at after each step
  std::vector<size_t> next_ports;          // of the states, in order
  size_t loss_port = kNoPort, finite_port = kNoPort, logits_port = kNoPort;
  float learning_rate = 0;
  int64_t num_steps = 0;

  absl::StatusOr<TrainStep> RunStep(const NamedDatums& inputs, const NodeGate* may_go_on);
  // With the state.
  absl::StatusOr<NamedDatums> AllInputs(const NamedDatums& inputs) const;
  RunOptions OptionsOfStep(int64_t step) const;
  absl::StatusOr<std::string> TakeCheckpoint(const std::string& path);
  void SetLearningRate(float rate);
  absl::StatusOr<LoadedFile> Load() const;
  absl::StatusOr<LoadedFile> LoadInFloat32() const;  // warnings: what stays low
  absl::Status FindPorts();
  absl::Status TakeInitialState();
  absl::StatusOr<LoadedFile> LoadForward(const std::string& forward) const;
  absl::Status CheckState(const std::string& name, const Tensor& value) const;
  // Where the processor sees it.
  absl::StatusOr<Tensor> State(const std::string& name) const;
  // Where steps read it.
  absl::StatusOr<Tensor> WhereStepsRun(Tensor value) const;
  void Keep(const std::string& name, Tensor value);
  std::vector<std::string> StateNames() const;
  absl::Status NoState(const std::string& name) const;  // the error
  // Whether a checkpoint is of this step graph, by what it says and the names of its states.
  absl::Status CheckDescribed(const Checkpoint& checkpoint) const;
};

absl::StatusOr<LoadedFile> Trainer::Content::Load() const {
  if (!path.empty()) return LoadModel(path, {.limits = options.limits});
  AMP_ASSIGN_OR_RETURN(LoadedFile file, ParseModel(bytes, options.limits));
  AMP_RETURN_IF_ERROR(ValidateFile(file, options.limits));
  return file;
}

absl::StatusOr<LoadedFile> Trainer::Content::LoadInFloat32() const {
  AMP_ASSIGN_OR_RETURN(LoadedFile file, Load());
  file.warnings.clear();  // told when the trainer was made
  AMP_RETURN_IF_ERROR(TakeBackFile(file));
  return file;
}

absl::Status Trainer::Content::FindPorts() {
  absl::flat_hash_map<std::string, size_t> ports;
  const std::vector<std::string> names = session->OutputNames();
  for (size_t port = 0; port < names.size(); ++port) ports.emplace(names[port], port);
  const auto find = [&](const std::string& name, size_t* port) {
    if (name.empty()) return absl::OkStatus();
    const auto it = ports.find(name);
    if (it == ports.end())
      return ModelError("expected an output '", Escaped(name), "', as the metadata says; found ", QuotedFirstOf(names));
    *port = it->second;
    return absl::OkStatus();
  };
  AMP_RETURN_IF_ERROR(find(step.loss, &loss_port));
  AMP_RETURN_IF_ERROR(find(step.finite, &finite_port));
  AMP_RETURN_IF_ERROR(find(step.logits, &logits_port));
  for (const StepState& state : step.states) {
    AMP_RETURN_IF_ERROR(find(state.output, &next_ports.emplace_back()));
    if (state.input == step.scale) shown.insert(state.output);
  }
  return absl::OkStatus();
}

absl::Status Trainer::Content::TakeInitialState() {
  const Model& model = session->model();
  std::vector<std::string> names = StateNames();
  if (!step.learning_rate.empty()) names.push_back(step.learning_rate);
  for (const std::string& name : names) {
    const auto it = model.graph(kMainGraph).names.find(name);
    const bool is_input = it != model.graph(kMainGraph).names.end() && model.value(it->second).is_graph_input;
    const Datum initial = is_input ? session->program().constants[it->second] : Datum();
    if (initial.tensor() == nullptr) {
      return ModelError("expected an input '", Escaped(name),
                        "' with an initializer, as the metadata says; found none");
    }
    if (IsLowFloat(initial.tensor()->dtype())) {
      return ModelError("state '", Escaped(name), "': expected float32, found ", initial.TypeText());
    }
    inputs[name] = initial;
    if (name == step.learning_rate) continue;
    AMP_ASSIGN_OR_RETURN(Tensor state, WhereStepsRun(*initial.tensor()));
    Keep(name, std::move(state));
  }
  if (step.learning_rate.empty()) return absl::OkStatus();
  const Tensor& rate = *inputs[step.learning_rate].tensor();
  if (rate.dtype() != DType::kFloat32 || rate.num_elements() != 1) {
    return ModelError("input '", Escaped(step.learning_rate), "': expected float32[], found ", rate.TypeText());
  }
  learning_rate = rate.elements<float>()[0];
  // A tensor of its own: the model's constant is what steps would take to be the same in all of them.
  AMP_ASSIGN_OR_RETURN(Tensor own, WhereStepsRun(Tensor::Of<float>(DType::kFloat32, rate.dims(), {learning_rate})));
  inputs[step.learning_rate] = Datum(std::move(own));
  return absl::OkStatus();
}

std::vector<std::string> Trainer::Content::StateNames() const {
  std::vector<std::string> names;
  for (const StepState& state : step.states) names.push_back(state.input);
  return names;
}

absl::Status Trainer::Content::NoState(const std::string& name) const {
  return UsageError("'", Escaped(name), "' is no state of the step graph, which has ", QuotedFirstOf(StateNames()));
}

absl::Status Trainer::Content::CheckDescribed(const Checkpoint& checkpoint) const {
  if (checkpoint.step_graph != hash) {
    return UsageError("expected a checkpoint of this step graph (", hash, "), found one of another (",
                      Escaped(checkpoint.step_graph), ")");
  }
  if (checkpoint.states.size() != step.states.size()) {
    return UsageError("expected ", step.states.size(), " states, found ", checkpoint.states.size());
  }
  absl::flat_hash_set<std::string> names;
  for (const auto& [name, unused] : checkpoint.states) {
    if (!inputs.contains(name) || name == step.learning_rate) return NoState(name);
    if (!names.insert(name).second) return UsageError("a state is there twice");
  }
  return absl::OkStatus();
}

absl::Status Trainer::Content::CheckState(const std::string& name, const Tensor& value) const {
  const auto it = inputs.find(name);
  if (it == inputs.end() || name == step.learning_rate) return NoState(name);
  const Tensor& present = *it->second.tensor();
  if (present.dtype() == value.dtype() && present.dims() == value.dims()) return absl::OkStatus();
  return UsageError("state '", Escaped(name), "': expected ", present.TypeText(), ", found ", value.TypeText());
}

absl::StatusOr<Tensor> Trainer::Content::State(const std::string& name) const {
  const Tensor& state = *inputs.at(name).tensor();
  if (state.IsOnHost()) return state;
  return CopyFromDevice(*options.device, state);
}

absl::StatusOr<Tensor> Trainer::Content::WhereStepsRun(Tensor value) const {
  if (options.device == nullptr) return value;
  return CopyToDevice(*options.device, value);
}

void Trainer::Content::Keep(const std::string& name, Tensor value) {
  for (const StepState& state : step.states) {
    if (options.device != nullptr && state.input == name) places[state.output] = Datum(value);
  }
  inputs[name] = Datum(std::move(value));
}

// A model that does the forward part with the weights as they are.
absl::StatusOr<LoadedFile> Trainer::Content::LoadForward(const std::string& forward) const {
  absl::StatusOr<LoadedFile> file = forward.empty() ? LoadInFloat32() : LoadModel(forward, {.limits = options.limits});
  if (!file.ok()) return InFile(Escaped(forward.empty() ? path : forward), file.status());
  absl::flat_hash_set<std::string> states;
  for (const StepState& state : step.states) {
    states.insert(state.input);
    if (!IsTrained(state)) continue;
    AMP_ASSIGN_OR_RETURN(const Tensor value, State(state.input));
    const absl::Status replaced = ReplaceInitializer(
        *file->model, state.input, {.dtype = value.dtype(), .dims = value.dims(), .bytes = value.bytes()});
    if (!replaced.ok()) {
      return InFile(Escaped(forward), ModelError(replaced.message(),
                                                 "; --forward takes the float32 model that the "
                                                 "step was made of (amp-rewrite --policy float32 "
                                                 "takes a conversion back)"));
    }
  }
  if (!forward.empty()) return file;
  if (step.logits.empty())
    return UsageError(
        "the step graph does not say which output is the forward model's; expected --forward MODEL.onnx, the model "
        "that "
        "the step was made of");
  AMP_RETURN_IF_ERROR(CutToOutput(*file->model, step.logits, states, {std::string(kStateKey), std::string(kStepKey)}));
  if (const std::string node = FindTrainingNode(*file->model); !node.empty()) {
    return UsageError(
        "node ", node,
        " of the step graph runs as in training; expected --forward MODEL.onnx, the model that the step was "
        "made of");
  }
  return file;
}

Trainer::Trainer(std::unique_ptr<Content> content) : content_(std::move(content)) {}
Trainer::~Trainer() = default;

absl::StatusOr<std::unique_ptr<Trainer>> Trainer::Make(std::unique_ptr<Content> content) {
  Content& made = *content;
  AMP_ASSIGN_OR_RETURN(LoadedFile file, made.Load());
  made.files.reads.push_back({std::string(kStepGraph), made.path});
  if (file.external != nullptr) AddDataFiles(std::string(kStepGraph), *file.external, made.files);
  AMP_ASSIGN_OR_RETURN(made.hash, HashOf(file, made.bytes));
  AMP_ASSIGN_OR_RETURN(made.step, FindStep(*file.model));
  ForgetSeeds(*file.model);
  made.options.free_packed_weights = false;  // FindOriginInStep looks at constants
  AMP_ASSIGN_OR_RETURN(made.session, Session::Create(std::move(file), made.options));
  AMP_RETURN_IF_ERROR(CheckReduction(*made.session, made.options));
  AMP_RETURN_IF_ERROR(made.FindPorts());
  AMP_RETURN_IF_ERROR(made.TakeInitialState());
  return std::unique_ptr<Trainer>(new Trainer(std::move(content)));
}

absl::StatusOr<std::unique_ptr<Trainer>> Trainer::Create(const std::string& path, const SessionOptions& options) {
  return Fenced(Escaped(path), [&] {
    auto content = std::make_unique<Content>();
    content->path = path;
    content->options = options;
    return Make(std::move(content));
  });
}

absl::StatusOr<std::unique_ptr<Trainer>> Trainer::CreateFromBytes(std::string model, const SessionOptions& options) {
  return Fenced("", [&] {
    auto content = std::make_unique<Content>();
    content->bytes = std::move(model);
    content->options = options;
    return Make(std::move(content));
  });
}

absl::StatusOr<TrainStep> Trainer::Step(const NamedDatums& inputs, const NodeGate* may_go_on) {
  return Fenced("", [&] { return content_->RunStep(inputs, may_go_on); });
}

absl::StatusOr<NamedDatums> Trainer::Content::AllInputs(const NamedDatums& given) const {
  NamedDatums all = inputs;
  for (const auto& [name, datum] : given) {
    if (inputs.contains(name)) return UsageError("input '", Escaped(name), "' is state: see SetState");
    all[name] = datum;
  }
  return all;
}

RunOptions Trainer::Content::OptionsOfStep(int64_t step) const {
  return {.seed = SeedOfStep(SeedOfRank(options), step)};
}

absl::StatusOr<std::string> Trainer::FindOriginInStep(const NamedDatums& inputs) const {
  AMP_ASSIGN_OR_RETURN(const NamedDatums all, content_->AllInputs(inputs));
  return FindOriginOfNotFinite(*content_->session, all, content_->OptionsOfStep(content_->num_steps - 1));
}

absl::StatusOr<TrainStep> Trainer::Content::RunStep(const NamedDatums& inputs, const NodeGate* may_go_on) {
  Content& c = *this;
  AMP_ASSIGN_OR_RETURN(const NamedDatums all, AllInputs(inputs));
  RunOptions how = OptionsOfStep(num_steps);
  how.output_buffers = c.places.empty() ? nullptr : &c.places;
  how.shown = &c.shown;
  how.may_go_on = may_go_on;
  AMP_ASSIGN_OR_RETURN(std::vector<Datum> outputs, c.session->Run(all, how));
  TrainStep result;
  const auto scalar = [&]<typename T>(size_t port, const std::string& name, T& value) -> absl::Status {
    if (port == kNoPort) return absl::OkStatus();
    const Tensor* const tensor = outputs[port].tensor();
    const DType expected = std::is_same_v<T, bool> ? DType::kBool : DType::kFloat32;
    if (tensor == nullptr || tensor->dtype() != expected || tensor->num_elements() != 1) {
      return ModelError("output '", Escaped(name), "': expected ", DTypeName(expected), "[], found ",
                        outputs[port].TypeText());
    }
    value = tensor->elements<T>()[0];
    return absl::OkStatus();
  };
  AMP_RETURN_IF_ERROR(scalar(c.loss_port, c.step.loss, result.loss));
  AMP_RETURN_IF_ERROR(scalar(c.finite_port, c.step.finite, result.finite));
  if (c.logits_port != kNoPort && outputs[c.logits_port].tensor() != nullptr) {
    result.logits = *outputs[c.logits_port].tensor();
  }
  for (size_t i = 0; i < c.step.states.size(); ++i) {
    const StepState& state = c.step.states[i];
    const Tensor* next = outputs[c.next_ports[i]].tensor();
    AMP_RETURN_IF_ERROR(c.CheckState(state.input, next == nullptr ? Tensor() : *next));
    if (state.input == c.step.scale) AMP_RETURN_IF_ERROR(scalar(c.next_ports[i], state.output, result.loss_scale));
  }
  for (size_t i = 0; i < c.step.states.size(); ++i) {
    if (c.places.contains(c.step.states[i].output)) continue;  // it lies where it lay
    c.inputs[c.step.states[i].input] = std::move(outputs[c.next_ports[i]]);
  }
  ++c.num_steps;
  return result;
}

int64_t Trainer::num_steps() const { return content_->num_steps; }
const std::string& Trainer::graph_hash() const { return content_->hash; }
void Trainer::set_num_steps(int64_t count) { content_->num_steps = count; }
float Trainer::learning_rate() const { return content_->learning_rate; }
void Trainer::set_learning_rate(float rate) { content_->SetLearningRate(rate); }
void Trainer::Content::SetLearningRate(float rate) {
  if (step.learning_rate.empty()) return;
  Datum& present = inputs[step.learning_rate];
  Tensor next = Tensor::Of<float>(DType::kFloat32, present.tensor()->dims(), {rate});
  learning_rate = rate;
  if (present.tensor()->IsOnHost()) {
    present = Datum(std::move(next));
  } else {
    // The next step reports what fails here.
    CopyOnto(*options.device, next, *present.mutable_tensor()).IgnoreError();
  }
}

const StepDescription& Trainer::description() const { return content_->step; }
const FileUses& Trainer::files() const { return content_->files; }
const Session& Trainer::session() const { return *content_->session; }
bool Trainer::IsState(const std::string& input) const { return content_->inputs.contains(input); }

std::vector<std::string> Trainer::StateNames() const { return content_->StateNames(); }

absl::StatusOr<Tensor> Trainer::State(const std::string& name) const {
  return Fenced("", [&]() -> absl::StatusOr<Tensor> {
    const auto it = content_->inputs.find(name);
    if (it == content_->inputs.end()) return content_->NoState(name);
    return content_->State(name);
  });
}

absl::Status Trainer::SetState(const std::string& name, Tensor value) {
  return Fenced("", [&]() -> absl::Status {
    if (const absl::Status made = value.status(); !made.ok()) {
      return UsageError("state '", Escaped(name), "': ", made.message());
    }
    AMP_RETURN_IF_ERROR(content_->CheckState(name, value));
    AMP_ASSIGN_OR_RETURN(value, content_->WhereStepsRun(std::move(value)));
    content_->Keep(name, std::move(value));
    return absl::OkStatus();
  });
}

absl::Status Trainer::SaveWeights(const std::string& path, const std::string& forward, Overwrite overwrite) const {
  return Fenced("", [&] { return SaveForward(path, forward, overwrite).status(); });
}

absl::StatusOr<std::vector<std::string>> Trainer::SaveForward(const std::string& path, const std::string& forward,
                                                              Overwrite overwrite) const {
  AMP_ASSIGN_OR_RETURN(const LoadedFile file, content_->LoadForward(forward));
  FileUses files = content_->files;
  files.reads.push_back({"the forward model", forward});
  if (file.external != nullptr) AddDataFiles("the forward model", *file.external, files);
  AMP_RETURN_IF_ERROR(CheckMayWrite(std::move(files), "the trained model", path, FileKind::kModel, overwrite));
  SaveOptions options;
  options.force = overwrite == Overwrite::kAnyKind;
  options.input = &file;
  options.limits = content_->options.limits;
  AMP_RETURN_IF_ERROR(SaveModel(*file.model, file.weights(), path, options).status());
  return file.warnings;
}

absl::StatusOr<std::unique_ptr<Session>> Trainer::MakeForward(const std::string& forward) const {
  return Fenced("", [&] { return MakeEdited(forward, [](onnx::ModelProto&) { return absl::OkStatus(); }); });
}

absl::StatusOr<std::unique_ptr<Session>> Trainer::MakeEdited(
    const std::string& forward, const std::function<absl::Status(onnx::ModelProto&)>& edit) const {
  AMP_ASSIGN_OR_RETURN(LoadedFile file, content_->LoadForward(forward));
  AMP_RETURN_IF_ERROR(edit(*file.model));
  AMP_RETURN_IF_ERROR(ValidateFile(file, content_->options.limits));
  return Session::Create(std::move(file), content_->options);
}

absl::Status Trainer::SaveCheckpoint(const std::string& path, const std::string& note, Overwrite overwrite) const {
  return Fenced("", [&] { return SaveNamedCheckpoint(path, note, overwrite); });
}

absl::Status Trainer::SaveNamedCheckpoint(const std::string& path, const std::string& note, Overwrite overwrite) const {
  AMP_RETURN_IF_ERROR(CheckMayWrite(content_->files, "the checkpoint", path, FileKind::kCheckpoint, overwrite));
  Checkpoint checkpoint{.step_graph = content_->hash,
                        .num_steps = content_->num_steps,
                        .learning_rate = content_->learning_rate,
                        .note = note,
                        .states = {}};
  for (const StepState& state : content_->step.states) {
    AMP_ASSIGN_OR_RETURN(Tensor value, content_->State(state.input));
    checkpoint.states.emplace_back(state.input, std::move(value));
  }
  return WriteCheckpoint(path, checkpoint, overwrite == Overwrite::kAnyKind);
}

absl::StatusOr<std::string> Trainer::LoadCheckpoint(const std::string& path) {
  return Fenced(Escaped(path), [&] { return content_->TakeCheckpoint(path); });
}

absl::StatusOr<std::string> Trainer::Content::TakeCheckpoint(const std::string& path) {
  Content& c = *this;
  const auto complain = [&](const absl::Status& status) { return InFile(Escaped(path), status); };
  const auto check = [&](const Checkpoint& described) { return c.CheckDescribed(described); };
  AMP_ASSIGN_OR_RETURN(Checkpoint checkpoint, ReadCheckpoint(path, check));
  absl::flat_hash_map<std::string, Tensor> loaded;
  for (auto& [name, tensor] : checkpoint.states) {
    AMP_RETURN_IF_ERROR(complain(c.CheckState(name, tensor)));
    AMP_ASSIGN_OR_RETURN(loaded[name], c.WhereStepsRun(std::move(tensor)));
  }
  if (loaded.size() != c.step.states.size()) return complain(IoError("the file changed while it was read"));
  for (auto& [name, tensor] : loaded) c.Keep(name, std::move(tensor));
  c.num_steps = checkpoint.num_steps;
  c.SetLearningRate(checkpoint.learning_rate);
  return std::move(checkpoint.note);
}

}  // namespace amp
