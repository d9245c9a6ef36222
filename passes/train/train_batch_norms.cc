#include "passes/train/train_batch_norms.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/file/description.h"
#include "ir/graph/attributes.h"
#include "ir/graph/constant.h"

namespace amp {
namespace {

// onnxruntime's BatchNormalization writes the running statistics over those that it is given, which a step that is
// skipped still needs. An Identity would be optimised away.
constexpr absl::string_view kCopy = R"(
<domain: "ai.amp", opset_import: ["" : 17]>
Copy (value) => (copy) { copy = Concat <axis = 0> (value) })";

constexpr size_t kScale = 1, kShift = 2, kMean = 3, kVariance = 4;

class Trainer {
 public:
  explicit Trainer(StepGraph& step) : step_(step), model_(step.model()) {}

  absl::Status Train(NodeId norm) {
    for (const size_t port : {kMean, kVariance}) AMP_RETURN_IF_ERROR(CheckStatistic(norm, port));
    AddFunction(model_, kCopy);
    const NodeId trained = Replace(norm);
    for (const size_t port : {kMean, kVariance}) {
      const ValueId state = model_.node(trained).Input(port);
      step_.AdoptState(state, StateKind::kRunning);
      model_.SetInput(trained, port, Copy(state));
      const ValueId next = model_.node(trained).Output(port - kShift);
      statistics_.push_back({state, next});
    }
    return absl::OkStatus();
  }

  std::vector<RunningStatistic> TakeStatistics() { return std::move(statistics_); }

 private:
  absl::Status CheckStatistic(NodeId norm, size_t port) {
    const Value& value = model_.value(model_.node(norm).Input(port));
    const auto fault = [&](absl::string_view found) {
      return ModelError("node '", Escaped(model_.NodeLabel(norm)), "' (BatchNormalization) input ", port, " '",
                        Escaped(value.name),
                        "': expected a float32 initializer of its own, for running statistics, found ", found,
                        "; --freeze the node's scale and shift to keep its statistics");
    };
    if (!value.IsInitializer() || value.graph != kMainGraph) return fault("none");
    if (value.dtype != DType::kFloat32) return fault(DTypeName(value.dtype));
    if (value.uses.size() != 1) return fault(absl::StrCat(value.uses.size(), " readers"));
    return absl::OkStatus();
  }

  ValueId Copy(ValueId state) {
    const std::string name = model_.UniqueName(absl::StrCat(model_.value(state).name, "_copy"));
    const NodeId copy = model_.InsertAfter(
        kMainGraph, kNone,
        {.op_type = "Copy", .domain = kOwnDomain, .name = name, .inputs = {state}, .outputs = {name}});
    model_.CopyType(state, model_.node(copy).Output(0));
    return model_.node(copy).Output(0);
  }

  // Replaces the node by one with three outputs.
  NodeId Replace(NodeId norm) {
    const ValueId output = model_.node(norm).Output(0);
    const std::string public_name = model_.value(output).name, name(model_.node(norm).name());
    const auto result = [&](absl::string_view suffix) { return model_.UniqueName(absl::StrCat(public_name, suffix)); };
    const auto& inputs = model_.node(norm).inputs;
    const NodeId made =
        model_.InsertAfter(kMainGraph, norm,
                           {.op_type = model_.node(norm).op_type(),
                            .name = name.empty() ? result("_norm") : name,
                            .inputs = {inputs.begin(), inputs.end()},
                            .outputs = {result("_trained"), result("_running_mean"), result("_running_variance")}});
    for (const char* const attribute : {"epsilon", "momentum"}) {
      if (const auto value = GetFloat(model_.node(norm), attribute)) SetFloat(model_, made, attribute, *value);
    }
    SetInt(model_, made, "training_mode", 1);
    for (size_t port = 0; port < model_.node(norm).outputs.size() && port <= kShift; ++port) {
      TakeOver(model_.node(norm).Output(port), model_.node(made).Output(port));
    }
    model_.Erase(norm);
    const ValueId first = model_.node(made).Output(0);
    if (!model_.IsModelOutput(first)) model_.Rename(first, public_name);
    return made;
  }

  void TakeOver(ValueId from, ValueId to) {
    if (from == kNone) return;
    model_.CopyType(from, to);
    model_.ReplaceUses(from, to, [](const Use&) { return true; });
    if (model_.IsModelOutput(from)) {
      model_.TakeOverGraphOutputs(from, to, model_.UniqueName(absl::StrCat(model_.value(from).name, "_replaced")));
    }
  }

  StepGraph& step_;
  Model& model_;
  std::vector<RunningStatistic> statistics_;
};

}  // namespace

absl::StatusOr<std::vector<RunningStatistic>> TrainBatchNorms(StepGraph& step,
                                                              const absl::flat_hash_set<ValueId>& trained) {
  Trainer trainer(step);
  for (const NodeId id : step.model().NodesInOrder(kMainGraph)) {
    const Node& node = step.model().node(id);
    const bool is_trained = trained.contains(node.Input(kScale)) || trained.contains(node.Input(kShift));
    if (node.Has(Role::kTracksStatistics) && !step.model().IsCallOfFunction(id) && is_trained) {
      AMP_RETURN_IF_ERROR(trainer.Train(id));
    }
  }
  return trainer.TakeStatistics();
}

}  // namespace amp
