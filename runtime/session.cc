#include "runtime/session.h"

#include <new>
#include <optional>
#include <utility>

#include "ir/base/status.h"
#include "ir/functions/inline_by_mode.h"
#include "ir/functions/schema_functions.h"
#include "ir/graph/infer.h"
#include "ir/graph/shape.h"

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

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> Session::Create(const std::string& path, const SessionOptions& options) {
  AMP_ASSIGN_OR_RETURN(LoadedFile file, LoadModel(path, {.limits = options.limits}));
  return Create(std::move(file), options);
}

absl::StatusOr<std::unique_ptr<Session>> Session::Create(LoadedFile file, const SessionOptions& options) {
  AMP_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, MakeModel(std::move(file), options));
  AMP_ASSIGN_OR_RETURN(Program program, CompileProgram(*model, options.find_kernel));
  return std::unique_ptr<Session>(new Session(std::move(model), std::move(program), options));
}

Session::Session(std::unique_ptr<Model> model, Program program, const SessionOptions& options)
    : model_(std::move(model)), program_(std::move(program)), options_(options) {
  for (const ValueId input : model_->graph(kMainGraph).inputs) {
    if (program_.constants[input].IsEmpty()) inputs_.push_back(input);
  }
}

absl::Status Session::CheckInputs(const NamedDatums& inputs) const {
  for (const ValueId input : inputs_) {
    const std::string& name = model_->value(input).name;
    if (!inputs.contains(name)) return UsageError("expected input '", Escaped(name), "', found none of that name");
  }
  for (const auto& [name, datum] : inputs) {
    const auto& names = model_->graph(kMainGraph).names;
    const auto it = names.find(name);
    if (it == names.end() || !model_->value(it->second).is_graph_input) {
      return UsageError("'", Escaped(name), "' is no input of the model");
    }
    const bool wants_tensor = model_->value(it->second).is_tensor;
    if (wants_tensor && datum.tensor() == nullptr) {
      return UsageError("input '", Escaped(name), "': expected a tensor, found ", datum.TypeText());
    }
    if (datum.tensor() != nullptr) AMP_RETURN_IF_ERROR(CheckTensor(*model_, it->second, *datum.tensor()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Datum>> Session::Run(const NamedDatums& inputs, const ValueObserver* observer) const {
  AMP_RETURN_IF_ERROR(CheckInputs(inputs));
  RunResources resources{.random = std::mt19937_64(options_.seed), .max_loop_iterations = options_.max_loop_iterations};
  Execution execution(*model_, program_, resources);
  execution.Observe(observer);
  std::vector<Datum> ordered;
  for (const ValueId input : model_->graph(kMainGraph).inputs) {
    const auto it = inputs.find(model_->value(input).name);
    ordered.push_back(it == inputs.end() ? program_.constants[input] : it->second);
  }
  try {
    return execution.Run(kMainGraph, std::move(ordered));
  } catch (const std::bad_alloc&) {
    return LimitError("out of memory");
  }
}

}  // namespace amp
