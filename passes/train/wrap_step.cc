#include "passes/train/wrap_step.h"

#include <algorithm>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "ir/functions/inline_by_mode.h"
#include "ir/functions/inline_functions.h"
#include "ir/graph/attributes.h"
#include "ir/graph/constant.h"
#include "ir/graph/graph_ports.h"
#include "ir/graph/metadata.h"
#include "ir/graph/shape.h"
#include "ir/graph/training_algorithm.h"
#include "passes/train/find_value.h"
#include "passes/train/loss_scale.h"
#include "passes/train/step_graph.h"
#include "passes/train/update_operators.h"

namespace amp {
namespace {

constexpr absl::string_view kSeedSuffix = "_grad";
constexpr int kFirstWithFunctions = 8;  // IR version

constexpr absl::string_view kFunctions = R"(
<domain: "ai.amp", opset_import: ["" : 17]>
ScaleSeed (seed, scale) => (scaled) { scaled = Mul (seed, scale) }

<domain: "ai.amp", opset_import: ["" : 17]>
OrZero (condition, value) => (chosen) {
  zero = Constant <value_float = 0.0> ()
  chosen = Where (condition, value, zero)
})";

// The parts of a training graph that a loss scale concerns.
struct TrainingGraph {
  std::vector<ValueId> seeds;      // initializers that gradients begin with
  std::vector<NodeId> beginnings;  // nodes whose first result gradients begin with
  std::vector<NodeId> operators;   // Gradient
  std::vector<ValueId> gradients;
  std::vector<ValueId> weights;  // that the caller named
  std::vector<NodeId> updates;

  bool HasBeginning() const { return !seeds.empty() || !beginnings.empty() || !operators.empty(); }
};

ValueId Find(const Model& model, const std::string& name) {
  const auto& names = model.graph(kMainGraph).names;
  const auto found = names.find(name);
  return found == names.end() ? kNone : found->second;
}

// That a Gradient operator differentiates.
ValueId LossOf(const Model& model, NodeId gradient) {
  const std::optional<std::string> loss = GetString(model.node(gradient), "y");
  return loss ? Find(model, *loss) : kNone;
}

void AddOnce(std::vector<ValueId>& values, ValueId value) {
  if (value != kNone && !absl::c_linear_search(values, value)) values.push_back(value);
}

absl::StatusOr<TrainingGraph> Survey(const Model& model, const WrapSettings& settings) {
  TrainingGraph found;
  for (const NodeId id : model.NodesInOrder(kMainGraph)) {
    if (BeginsGradients(model, id)) found.beginnings.push_back(id);
    if (IsGradientOperator(model, id)) found.operators.push_back(id);
    const std::optional<UpdatePorts> ports = FindUpdatePorts(model, id);
    if (!ports) continue;
    found.updates.push_back(id);
    for (const size_t port : ports->gradients) AddOnce(found.gradients, model.node(id).Input(port));
  }
  for (const auto& [weight, gradient] : settings.gradients) {
    AMP_ASSIGN_OR_RETURN(const ValueId of, FindNamedValue(model, weight, "--gradient"));
    AMP_ASSIGN_OR_RETURN(const ValueId value, FindNamedValue(model, gradient, "--gradient"));
    AddOnce(found.gradients, value);
    AddOnce(found.weights, of);
  }
  const std::string seed_of_loss = absl::StrCat(settings.loss, kSeedSuffix);
  for (const ValueId id : model.graph(kMainGraph).initializers) {
    const Value& value = model.value(id);
    const bool is_named = settings.loss.empty() ? absl::EndsWith(value.name, kSeedSuffix) : value.name == seed_of_loss;
    if (is_named && value.dtype == DType::kFloat32 && !value.uses.empty() && ScalarConstant(model, id) == 1) {
      found.seeds.push_back(id);
    }
  }
  return found;
}

absl::Status ExpectWhole(const Model& model, const TrainingGraph& graph, const WrapSettings& settings) {
  if (graph.gradients.empty() && !graph.HasBeginning()) {
    return ModelError("--loss-scale: the model has no gradients; --train makes a training step of a forward model");
  }
  std::vector<std::string> missing;
  if (graph.gradients.empty()) {
    missing.push_back("gradients of weights: operands of an optimizer or an accumulator, or --gradient WEIGHT=GRAD");
  }
  if (!graph.HasBeginning()) {
    const std::string name = settings.loss.empty() ? "LOSS" : Escaped(settings.loss);
    missing.push_back(absl::StrCat("what gradients begin with: an initializer ", name,
                                   "_grad with the value 1, or a Gradient operator"));
  }
  for (const NodeId id : graph.seeds.empty() ? graph.operators : std::vector<NodeId>()) {
    if (LossOf(model, id) != kNone) continue;
    missing.push_back(absl::StrCat("the loss that node '", Escaped(model.NodeLabel(id)), "' (Gradient) names"));
  }
  if (!missing.empty()) return ModelError("--loss-scale: missing: ", absl::StrJoin(missing, "; "));
  if (graph.seeds.size() <= 1) return absl::OkStatus();
  std::vector<std::string> names;
  names.reserve(graph.seeds.size());
  for (const ValueId seed : graph.seeds) names.push_back(Escaped(model.value(seed).name));
  return ModelError("--loss-scale: expected one seed of gradients, found ", graph.seeds.size(), ": ",
                    absl::StrJoin(names, ", "), "; --loss NAME chooses NAME_grad");
}

absl::Status CheckUnscaled(const Model& model) {
  const bool is_scaled = FindMetadata(model, kStateKey).has_value() || Find(model, std::string(kScaleName)) != kNone;
  if (!is_scaled) return absl::OkStatus();
  return ModelError("--loss-scale: already wrapped: the model has a loss scale, and would be scaled twice");
}

class Wrapper {
 public:
  Wrapper(Model& model, const TrainingGraph& graph, const WrapSettings& settings)
      : model_(model), graph_(graph), settings_(settings), step_(model) {}

  absl::Status Wrap() {
    AddStepFunctions(model_);
    AddFunction(model_, kFunctions);
    scale_ = AddLossScale(step_, settings_.scale);
    ScaleBeginnings();
    std::vector<ValueId> unscaled = graph_.gradients;
    Unscale(step_, scale_, unscaled);
    ValueId finite = kNone;
    if (settings_.scale.ChecksGradients()) {
      finite = AddFiniteCheck(step_, unscaled);
      model_.Rename(finite, model_.UniqueName(kFiniteName));
      AddGraphOutput(model_, finite);
    }
    for (size_t i = 0; i < unscaled.size(); ++i) ReadInstead(graph_.gradients[i], unscaled[i]);
    for (const NodeId update : graph_.updates) ListStates(update);
    if (finite != kNone) {
      for (const NodeId update : graph_.updates) SkipUnless(finite, update);
    }
    for (const ValueId weight : graph_.weights) Release(weight);
    AMP_RETURN_IF_ERROR(UpdateLossScale(step_, scale_, settings_.scale, finite));
    StepDescription description;
    description.states = std::move(states_);
    for (StepState& state : step_.Finish()) description.states.push_back(std::move(state));
    if (!description.states.empty()) SetMetadata(model_, kStateKey, StateJson(description));
    return absl::OkStatus();
  }

 private:
  // Nodes that were there read `scaled`; those that this made read what they read.
  void ReadInstead(ValueId value, ValueId scaled) {
    if (value == scaled) return;
    model_.ReplaceUses(value, scaled, [&](const Use& use) { return !model_.node(use.node).inserted; });
    if (!model_.IsModelOutput(value)) return;
    model_.TakeOverGraphOutputs(value, scaled, model_.UniqueName(absl::StrCat(model_.value(value).name, "_scaled")));
  }

  // A caller may give other weights than those of the file from now on: low copies are made in the step.
  void Release(ValueId weight) {
    if (model_.value(weight).IsInitializer() && model_.value(weight).graph == kMainGraph) {
      MakeOverridable(model_, weight);
    }
  }

  void ListStates(NodeId update) {
    const UpdatePorts ports = *FindUpdatePorts(model_, update);
    for (const auto& [output, input] : ports.updates) {
      const ValueId next = model_.node(update).Output(output), old = model_.node(update).Input(input);
      Release(old);
      if (!model_.value(old).is_graph_input || !model_.IsModelOutput(next)) continue;
      const StateKind kind = input < ports.gradients.front() ? StateKind::kWeight : StateKind::kSlot;
      states_.push_back({model_.value(old).name, model_.value(next).name, kind});
    }
  }

  void ScaleBeginnings() {
    const auto scaled = [&](ValueId value) { return step_.CallLike(value, "ScaleSeed", {value, scale_.scale}); };
    for (const ValueId seed : graph_.seeds) ReadInstead(seed, scaled(seed));
    if (!graph_.seeds.empty()) return;
    for (const NodeId id : graph_.operators) {
      SetString(model_, id, "y", model_.value(scaled(LossOf(model_, id))).name);
    }
    for (const NodeId id : graph_.beginnings) ReadInstead(model_.node(id).Output(0), scaled(model_.node(id).Output(0)));
  }

  // An accumulator that gives no next value gets nothing to add instead.
  void SkipUnless(ValueId finite, NodeId update) {
    const UpdatePorts ports = *FindUpdatePorts(model_, update);
    for (const auto& [output, input] : ports.updates) {
      const ValueId next = model_.node(update).Output(output), old = model_.node(update).Input(input);
      ReadInstead(next, step_.Choose(finite, next, old));
    }
    if (!ports.updates.empty()) return;
    for (const size_t port : ports.gradients) {
      const ValueId gradient = model_.node(update).Input(port);
      model_.SetInput(update, port, step_.CallLike(gradient, "OrZero", {finite, gradient}));
    }
  }

  Model& model_;
  const TrainingGraph& graph_;
  const WrapSettings& settings_;
  StepGraph step_;
  LossScale scale_;
  std::vector<StepState> states_;  // that the graph had
};

// Returns the model made anew, with calls in order: behind the nodes that they read, ahead of their readers.
absl::StatusOr<std::unique_ptr<Model>> InOrder(std::unique_ptr<Model> model,
                                               std::shared_ptr<const OpSignatures> signatures, const Limits& limits) {
  AMP_ASSIGN_OR_RETURN(model, InlineByMode(std::move(model), FunctionMode::kKeep, signatures, limits));
  model->SetIrVersion(model->ir_version());  // an edit, so that the order is written
  // Once more, since the first one warns of an order that is not the file's.
  return InlineByMode(std::move(model), FunctionMode::kKeep, std::move(signatures), limits);
}

// Adds the loss scale to a graph that is a whole step. Returns a line that describes it.
absl::StatusOr<std::string> WrapGraph(Model& model, const WrapSettings& settings) {
  AMP_RETURN_IF_ERROR(CheckUnscaled(model));
  AMP_ASSIGN_OR_RETURN(const TrainingGraph graph, Survey(model, settings));
  AMP_RETURN_IF_ERROR(ExpectWhole(model, graph, settings));
  if (model.ir_version() < kFirstWithFunctions) model.SetIrVersion(kFirstWithFunctions);
  AMP_RETURN_IF_ERROR(Wrapper(model, graph, settings).Wrap());
  model.Commit();
  KeepCalledFunctions(model.EditProto());
  return absl::StrCat("Scaled the loss of a training graph, ", graph.gradients.size(),
                      graph.gradients.size() == 1 ? " gradient" : " gradients");
}

// The algorithm's part of the step alone changes: states are bound there, and are no inputs.
absl::StatusOr<std::string> WrapAlgorithm(Model& model, std::shared_ptr<const OpSignatures> signatures,
                                          const WrapSettings& settings, const Limits& limits) {
  AMP_ASSIGN_OR_RETURN(std::unique_ptr<Model> combined, CombineWithAlgorithm(model, signatures));
  AMP_ASSIGN_OR_RETURN(std::string line, WrapGraph(*combined, settings));
  AMP_ASSIGN_OR_RETURN(const std::vector<StepState> states, FindStates(combined->proto()));
  std::vector<std::pair<std::string, std::string>> bindings;
  for (const StepState& state : states) {
    const bool is_bound = state.kind == StateKind::kWeight || state.kind == StateKind::kSlot;
    if (!is_bound) bindings.push_back({state.input, state.output});
  }
  AMP_ASSIGN_OR_RETURN(combined, InOrder(std::move(combined), std::move(signatures), limits));
  TakeAlgorithm(model, *combined, bindings);
  return line;
}

}  // namespace

absl::StatusOr<WrappedStep> WrapStep(std::unique_ptr<Model> model, std::shared_ptr<const OpSignatures> signatures,
                                     const WrapSettings& settings, const Limits& limits) {
  std::string line;
  if (HasTrainingInfo(*model)) {
    AMP_ASSIGN_OR_RETURN(line, WrapAlgorithm(*model, signatures, settings, limits));
  } else {
    AMP_ASSIGN_OR_RETURN(line, WrapGraph(*model, settings));
  }
  const std::vector<std::string> warnings = model->warnings();
  AMP_ASSIGN_OR_RETURN(model, InOrder(std::move(model), std::move(signatures), limits));
  for (const std::string& warning : warnings) model->AddWarning(warning);
  return WrappedStep{std::move(model), std::move(line)};
}

}  // namespace amp
