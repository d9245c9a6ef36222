#include "runtime/session.h"

#include <new>
#include <optional>
#include <utility>

#include "ir/base/status.h"
#include "ir/file/model_file.h"
#include "ir/functions/inline_by_mode.h"
#include "ir/functions/schema_functions.h"
#include "ir/graph/graph.h"
#include "ir/graph/infer.h"
#include "ir/graph/shape.h"
#include "runtime/execution.h"
#include "runtime/program.h"
#include "runtime/reference/reference_kernels.h"

namespace amp {
namespace {

absl::Status CheckTensor(const Model& model, ValueId id, const Tensor& tensor) {
  const Value& value = model.value(id);
  const auto complain = [&] {
    return UsageError("input '", Escaped(value.name), "': expected ", TypeText(model, id), ", found ",
                      tensor.TypeText());
  };
  if (value.dtype != DType::kUndefined && tensor.dtype() != value.dtype) return complain();
  const std::optional<std::vector<int64_t>> dims = ShapeOf(model, id);
  if (!dims.has_value()) return absl::OkStatus();
  if (dims->size() != tensor.rank()) return complain();
  for (size_t i = 0; i < dims->size(); ++i) {
    if ((*dims)[i] != kUnknownDim && (*dims)[i] != tensor.dim(i)) return complain();
  }
  return absl::OkStatus();
}

// Bodies may need bodies in turn; ONNX's own are three deep at most.
constexpr int kMaxBodyDepth = 8;

absl::StatusOr<std::unique_ptr<Model>> MakeModel(LoadedFile file, const SessionOptions& options) {
  const Weights weights = file.weights();
  for (int depth = 0;; ++depth) {
    AMP_RETURN_IF_ERROR(InlineByMode(file.arena, *file.model, FunctionMode::kInline, options.limits).status());
    AMP_ASSIGN_OR_RETURN(std::unique_ptr<Model> model,
                         Model::Create(std::move(file.arena), file.model, nullptr, weights));
    InferTypes(*model);
    const auto lacks_kernel = [&](NodeId node) { return LacksKernel(*model, node, options.find_kernel); };
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

}  // namespace

struct Session::State {
  std::unique_ptr<Model> model;
  Program program;
  SessionOptions options;
  std::vector<ValueId> inputs;
};

absl::StatusOr<std::unique_ptr<Session>> Session::Create(const std::string& path, const SessionOptions& options) {
  AMP_ASSIGN_OR_RETURN(LoadedFile file, LoadModel(path, {.limits = options.limits}));
  return Create(std::move(file), options);
}

absl::StatusOr<std::unique_ptr<Session>> Session::Create(LoadedFile file, const SessionOptions& stated) {
  SessionOptions options = stated;
  if (options.find_kernel == nullptr) options.find_kernel = FindReferenceKernel;
  AMP_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, MakeModel(std::move(file), options));
  AMP_ASSIGN_OR_RETURN(Program program, CompileProgram(*model, options.find_kernel));
  auto state = std::make_unique<State>(State{std::move(model), std::move(program), options, {}});
  for (const ValueId input : state->model->graph(kMainGraph).inputs) {
    if (state->program.constants[input].IsEmpty()) state->inputs.push_back(input);
  }
  return std::unique_ptr<Session>(new Session(std::move(state)));
}

Session::Session(std::unique_ptr<const State> state) : state_(std::move(state)) {}
Session::~Session() = default;

const Model& Session::model() const { return *state_->model; }
const Program& Session::program() const { return state_->program; }
const std::vector<ValueId>& Session::inputs() const { return state_->inputs; }
const std::vector<ValueId>& Session::outputs() const { return model().graph(kMainGraph).outputs; }
std::vector<std::string> Session::InputNames() const { return NamesOf(model(), inputs()); }
std::vector<std::string> Session::OutputNames() const { return NamesOf(model(), outputs()); }

absl::Status Session::CheckInputs(const NamedDatums& inputs) const {
  for (const ValueId input : this->inputs()) {
    const std::string& name = model().value(input).name;
    if (!inputs.contains(name)) return UsageError("expected input '", Escaped(name), "', found none of that name");
  }
  for (const auto& [name, datum] : inputs) {
    const auto& names = model().graph(kMainGraph).names;
    const auto it = names.find(name);
    if (it == names.end() || !model().value(it->second).is_graph_input) {
      return UsageError("'", Escaped(name), "' is no input of the model");
    }
    const bool wants_tensor = model().value(it->second).is_tensor;
    if (wants_tensor && datum.tensor() == nullptr) {
      return UsageError("input '", Escaped(name), "': expected a tensor, found ", datum.TypeText());
    }
    if (datum.tensor() != nullptr) AMP_RETURN_IF_ERROR(CheckTensor(model(), it->second, *datum.tensor()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Datum>> Session::Run(const NamedDatums& inputs, const ValueObserver* observer) const {
  AMP_RETURN_IF_ERROR(CheckInputs(inputs));
  RunResources resources{.random = std::mt19937_64(state_->options.seed),
                         .max_loop_iterations = state_->options.max_loop_iterations};
  Execution execution(model(), state_->program, resources);
  execution.Observe(observer);
  std::vector<Datum> ordered;
  for (const ValueId input : model().graph(kMainGraph).inputs) {
    const auto it = inputs.find(model().value(input).name);
    ordered.push_back(it == inputs.end() ? state_->program.constants[input] : it->second);
  }
  try {
    return execution.Run(kMainGraph, std::move(ordered));
  } catch (const std::bad_alloc&) {
    return LimitError("out of memory");
  }
}

}  // namespace amp
