#include "passes/train/make_step.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/file/model_walk.h"
#include "ir/file/validate.h"
#include "ir/functions/add_functions.h"
#include "ir/functions/inline_by_mode.h"
#include "ir/functions/inline_functions.h"
#include "ir/graph/constant.h"
#include "ir/graph/graph_ports.h"
#include "ir/graph/infer.h"
#include "ir/opset/opset_adapters.h"
#include "ir/schema/operator_label.h"
#include "passes/train/add_head.h"
#include "passes/train/combine_gradients.h"
#include "passes/train/differentiate.h"
#include "passes/train/loss.h"
#include "passes/train/loss_scale.h"
#include "passes/train/mean_over_ranks.h"
#include "passes/train/optimizers.h"
#include "passes/train/prepare_for_training.h"
#include "passes/train/step_graph.h"
#include "passes/train/train_batch_norms.h"
#include "passes/train/trainable.h"

namespace amp {
namespace {

constexpr int kFirstWithFunctions = 8;  // IR version
// At which BatchNormalization trains with float32 statistics beside low data, and where Conv takes bfloat16.
constexpr int kOpsetForFloat16 = 17, kOpsetForBfloat16 = 22;

constexpr absl::string_view kCountStep = R"(
<domain: "ai.amp", opset_import: ["" : 17]>
CountStep (steps) => (next) {
  one = Constant <value_int = 1> ()
  next = Add (steps, one)
})";

absl::Status CheckInput(const Model& model) {
  if (IsStepGraph(model.proto()))
    return ModelError("--train: the model is a step graph already; expected a forward model");
  std::string taken;
  ForEachFunction(model.proto(), [&](absl::string_view domain, absl::string_view name) {
    if (domain == kOwnDomain) taken = OperatorLabel(domain, name);
  });
  if (!taken.empty()) {
    return ModelError("--train: the model has a function ", Escaped(taken), "; expected other domains than ",
                      kOwnDomain, ", whose functions are those that steps are made of");
  }
  for (const ValueId id : model.graph(kMainGraph).initializers) {
    if (!model.value(id).is_training_state) continue;
    return ModelError("--train: '", Escaped(model.value(id).name),
                      "' is bound by training_info; expected a forward model, found one that trains");
  }
  return absl::OkStatus();
}

void LiftForTraining(Model& model, DType compute) {
  if (model.opset("") == 0) return;
  const int wanted = compute == DType::kBfloat16 ? kOpsetForBfloat16 : kOpsetForFloat16;
  const OpsetReach reach = ReachableOpset(model, wanted);
  if (reach.opset > model.opset("") && LiftOpset(model, reach.opset).ok()) InferTypes(model);
}

// Values of the main graph that the loss depends on.
absl::flat_hash_set<ValueId> InFrontOf(const Model& model, ValueId loss) {
  absl::flat_hash_set<ValueId> found = {loss};
  std::vector<NodeId> order = model.NodesInOrder(kMainGraph);
  std::reverse(order.begin(), order.end());
  for (const NodeId id : order) {
    const auto& outputs = model.node(id).outputs;
    if (std::none_of(outputs.begin(), outputs.end(), [&](ValueId out) { return found.contains(out); })) continue;
    for (const ValueId in : model.node(id).PresentInputs()) found.insert(in);
  }
  return found;
}

// "weight 'w' is read in a body of node 'if' (If), through which no gradient goes"; "" where no node that gives one of
// the values reads it there.
std::string ReadInBody(const Model& model, ValueId weight, const absl::flat_hash_set<ValueId>& values) {
  for (const Use& use : model.value(weight).uses) {
    NodeId owner = kNone;
    for (GraphId graph = use.graph; graph != kMainGraph; graph = model.node(owner).graph) {
      owner = model.graph(graph).owner;
    }
    if (owner == kNone) continue;
    const auto& outputs = model.node(owner).outputs;
    if (std::none_of(outputs.begin(), outputs.end(), [&](ValueId output) { return values.contains(output); })) continue;
    return absl::StrCat("weight '", Escaped(model.value(weight).name), "' is read in a body of node '",
                        Escaped(model.NodeLabel(owner)), "' (", Escaped(model.node(owner).op_type()),
                        "), through which no gradient goes");
  }
  return "";
}

class StepMaker {
 public:
  StepMaker(Model& model, const StepSettings& settings) : model_(model), settings_(settings), step_(model) {}

  absl::Status Make() {
    AddStepFunctions(model_);
    std::vector<ValueId> head;
    if (settings_.head.has_value()) {
      AMP_ASSIGN_OR_RETURN(const Head made, AddHead(model_, *settings_.head));
      head = {made.weight, made.bias};
    }
    AMP_RETURN_IF_ERROR(AttachLoss());
    AMP_RETURN_IF_ERROR(ChooseWeights(head));
    AMP_RETURN_IF_ERROR(Differentiate());
    AMP_RETURN_IF_ERROR(Update());
    Describe();
    return absl::OkStatus();
  }

  const std::vector<std::string>& warnings() const { return warnings_; }
  std::string Line() const {
    const absl::string_view scale = settings_.scale.kind == LossScaling::kDynamic ? ", dynamic loss scale"
                                    : settings_.scale.kind == LossScaling::kFixed ? ", fixed loss scale"
                                                                                  : "";
    return absl::StrCat("Made a training step of ", weights_.size(),
                        weights_.size() == 1 ? " weight: " : " weights: ", LossKindName(settings_.loss), ", ",
                        OptimizerName(settings_.optimizer.kind), scale,
                        settings_.data_parallel ? ", data-parallel" : "");
  }

 private:
  absl::Status AttachLoss() {
    LossOptions options;
    options.kind = settings_.loss;
    options.graph_loss = settings_.loss_output;
    options.logits = settings_.logits;
    options.labels = settings_.labels;
    options.label_kind = settings_.label_kind.value_or(LabelKind::kSparse);
    AMP_ASSIGN_OR_RETURN(loss_, AddLoss(model_, options));
    if (!model_.IsModelOutput(loss_.loss)) model_.Rename(loss_.loss, model_.UniqueName(kLossName));
    AddGraphOutput(model_, loss_.loss);
    if (loss_.logits != kNone) AddGraphOutput(model_, loss_.logits);
    return absl::OkStatus();
  }

  // `head`: the weights of a new head, which are trained in any case; nothing else is unless the caller says so.
  absl::Status ChooseWeights(const std::vector<ValueId>& head) {
    if (head.empty() || !settings_.trainable.empty()) {
      AMP_ASSIGN_OR_RETURN(weights_, ChooseTrainable(model_, settings_.trainable, settings_.freeze));
    }
    std::erase_if(weights_, [&](ValueId weight) { return absl::c_linear_search(head, weight); });
    weights_.insert(weights_.end(), head.begin(), head.end());
    std::string in_body;
    if (settings_.trainable.empty()) {  // those of other outputs are not meant
      const absl::flat_hash_set<ValueId> used = InFrontOf(model_, loss_.loss);
      for (const ValueId weight : weights_) {
        if (in_body.empty() && !used.contains(weight)) in_body = ReadInBody(model_, weight, used);
      }
      std::erase_if(weights_, [&](ValueId weight) { return !used.contains(weight); });
    }
    if (weights_.empty()) {
      return ModelError("--train: the loss depends on no weight that could be trained", in_body.empty() ? "" : "; ",
                        in_body);
    }
    if (!in_body.empty()) warnings_.push_back(absl::StrCat("--train: not trained: ", in_body));
    for (const ValueId weight : weights_) {
      const Value& value = model_.value(weight);
      if (value.dtype == DType::kFloat32) continue;
      return ModelError("--train: weight '", Escaped(value.name), "': expected float32, found ", DTypeName(value.dtype),
                        "; steps are smaller than what 16 bits round to, so that master weights are float32");
    }
    return absl::OkStatus();
  }

  absl::Status Differentiate() {
    for (const ValueId weight : weights_) step_.AdoptState(weight, StateKind::kWeight);
    AMP_ASSIGN_OR_RETURN(statistics_, TrainBatchNorms(step_, {weights_.begin(), weights_.end()}));
    InferTypes(model_);
    scale_ = AddLossScale(step_, settings_.scale);
    const ValueId seed = scale_.scale != kNone ? scale_.scale : step_.append().Scalar(1, DType::kFloat32);
    AMP_ASSIGN_OR_RETURN(gradients_, Gradients(model_, loss_.loss, seed, weights_));
    if (settings_.data_parallel) AverageAllOverRanks();
    return absl::OkStatus();
  }

  // Running statistics, too: each rank sees those of its share.
  void AverageAllOverRanks() {
    std::vector<ValueId> values = gradients_;
    for (const RunningStatistic& statistic : statistics_) values.push_back(statistic.next);
    AverageOverRanks(step_, values);
    std::copy_n(values.begin(), gradients_.size(), gradients_.begin());
    for (size_t i = 0; i < statistics_.size(); ++i) statistics_[i].next = values[gradients_.size() + i];
  }

  absl::Status Update() {
    Unscale(step_, scale_, gradients_);
    if (settings_.scale.ChecksGradients()) CheckGradients();
    const OptimizerSettings& optimizer = settings_.optimizer;
    ValueId apply = finite_;
    if (optimizer.accumulate > 1) {
      const ValueId due = AccumulateGradients(step_, weights_, optimizer.accumulate, finite_, gradients_);
      apply = step_.Both(finite_, due);
    }
    if (optimizer.clip_norm) ClipGradients(step_, *optimizer.clip_norm, gradients_);
    learning_rate_ =
        step_.AddDefault(kLearningRateName, MakeScalar(model_, static_cast<float>(optimizer.learning_rate)));
    CountSteps(apply);
    std::vector<WeightGradient> pairs;
    pairs.reserve(weights_.size());
    for (size_t i = 0; i < weights_.size(); ++i) pairs.push_back({weights_[i], gradients_[i]});
    AddUpdates(step_, optimizer, {learning_rate_, updates_, apply}, pairs);
    for (const auto& [state, next] : statistics_) step_.SetNext(state, step_.Choose(finite_, next, state));
    return UpdateLossScale(step_, scale_, settings_.scale, finite_);
  }

  void CheckGradients() {
    finite_ = AddFiniteCheck(step_, gradients_);
    if (settings_.data_parallel) finite_ = TrueOnAllRanks(step_, finite_);
    model_.Rename(finite_, model_.UniqueName(kFiniteName));
    AddGraphOutput(model_, finite_);
  }

  ValueId AddCounter(absl::string_view name, ValueId condition) {
    const ValueId counter = step_.AddState(name, MakeScalar(model_, int64_t{0}), StateKind::kCounter);
    step_.SetNext(counter, step_.Choose(condition, step_.CallLike(counter, "CountStep", {counter}), counter));
    return counter;
  }

  // A bias correction is by the updates that were done, whatever else is counted.
  void CountSteps(ValueId apply) {
    AddFunction(model_, kCountStep);
    const bool counts_skipped = settings_.scale.count_skipped_steps;
    global_step_ = AddCounter(kGlobalStepName, counts_skipped ? kNone : apply);
    updates_ = counts_skipped ? AddCounter("amp.updates", apply) : global_step_;
  }

  std::string NameOf(ValueId value) const { return value == kNone ? "" : model_.value(value).name; }

  void Describe() {
    StepDescription description;
    description.states = step_.Finish();
    description.loss = NameOf(loss_.loss);
    description.finite = NameOf(finite_);
    description.labels = NameOf(loss_.labels);
    description.label_kind = settings_.label_kind.value_or(LabelKind::kSparse);
    description.logits = NameOf(loss_.logits);
    description.learning_rate = NameOf(learning_rate_);
    description.scale = scale_.good_steps == kNone ? "" : NameOf(scale_.scale);
    description.good_steps = NameOf(scale_.good_steps);
    description.global_step = NameOf(global_step_);
    description.optimizer = std::string(OptimizerName(settings_.optimizer.kind));
    description.dtype = settings_.compute;
    description.loss_kind = settings_.loss;
    if (settings_.loss == LossKind::kMse) description.label_kind = LabelKind::kTarget;
    SetStep(model_, description);
  }

  Model& model_;
  const StepSettings& settings_;
  StepGraph step_;
  Loss loss_;
  LossScale scale_;
  std::vector<ValueId> weights_, gradients_;
  std::vector<std::string> warnings_;
  std::vector<RunningStatistic> statistics_;
  ValueId finite_ = kNone, learning_rate_ = kNone, global_step_ = kNone, updates_ = kNone;
};

}  // namespace

absl::StatusOr<MadeStep> MakeStep(std::unique_ptr<Model> model, std::shared_ptr<const OpSignatures> signatures,
                                  const StepSettings& settings, const Limits& limits) {
  AMP_RETURN_IF_ERROR(CheckInput(*model));
  InferTypes(*model);
  std::vector<std::string> warnings = model->warnings();
  LiftForTraining(*model, settings.compute);
  AMP_ASSIGN_OR_RETURN(model, PrepareForTraining(std::move(model), signatures, limits));
  if (model->ir_version() < kFirstWithFunctions) model->SetIrVersion(kFirstWithFunctions);
  StepMaker maker(*model, settings);
  AMP_RETURN_IF_ERROR(maker.Make());
  warnings.insert(warnings.end(), maker.warnings().begin(), maker.warnings().end());
  model->Commit();
  KeepCalledFunctions(model->EditProto());
  if (!settings.scale.function.empty()) {
    std::vector<std::string> known_warnings;
    AMP_RETURN_IF_ERROR(ValidateModel(model->proto(), limits.AfterInlining(), &known_warnings));
  }
  // Made anew, so that nodes of the step are nodes like any others.
  AMP_ASSIGN_OR_RETURN(model, InlineByMode(std::move(model), FunctionMode::kKeep, std::move(signatures), limits));
  for (const std::string& warning : warnings) model->AddWarning(warning);
  return MadeStep{std::move(model), maker.Line()};
}

absl::Status CheckMasters(const Model& model) {
  AMP_ASSIGN_OR_RETURN(const std::vector<StepState> states, FindStates(model.proto()));
  for (const StepState& state : states) {
    const auto& names = model.graph(kMainGraph).names;
    const auto found = names.find(state.input);
    if (found == names.end())
      return ModelError("metadata 'amp.state': the graph has no input '", Escaped(state.input), "'");
    const DType type = model.value(found->second).dtype;
    if (state.kind == StateKind::kCounter || type == DType::kFloat32) continue;
    return ModelError("state '", Escaped(state.input), "': expected float32, found ", DTypeName(type),
                      "; steps are smaller than what 16 bits round to, so that masters stay float32");
  }
  return absl::OkStatus();
}

}  // namespace amp
