#include "tools/train/evaluator.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "ir/base/status.h"
#include "ir/functions/cut_model.h"
#include "ir/graph/graph.h"
#include "tools/data/judge_batch.h"

namespace amp {
namespace {

// The only output, or the one that the step graph names.
absl::StatusOr<std::string> FindScores(const onnx::ModelProto& forward, const std::string& logits) {
  const std::vector<std::string> names = OutputNames(forward);
  if (names.size() == 1) return names.front();
  if (absl::c_linear_search(names, logits)) return logits;
  return UsageError("expected a forward model with one output, or one named '", Escaped(logits), "'; found ",
                    QuotedFirstOf(names));
}

// A forward model with the weights as they are.
struct Tested {
  std::unique_ptr<Session> session;
  size_t scores = 0;             // port of the scores, or the prediction
  std::optional<size_t> judged;  // of what the step's loss is of: logits, or the prediction
};

size_t PortOf(const Session& session, const std::string& name) {
  const std::vector<std::string> names = session.OutputNames();
  return static_cast<size_t>(absl::c_find(names, name) - names.begin());
}

absl::StatusOr<Tested> MakeTested(const Trainer& trainer, const std::string& forward) {
  const StepDescription& step = trainer.description();
  std::string scores, judged;
  Tested tested;
  AMP_ASSIGN_OR_RETURN(tested.session, trainer.MakeEdited(forward, [&](onnx::ModelProto& model) -> absl::Status {
    absl::StatusOr<std::string> found = FindScores(model, step.logits);
    if (!found.ok()) return InFile(Escaped(forward), found.status());
    scores = judged = *std::move(found);
    // A step graph's forward part ends at the logits already.
    const bool may_end_in_softmax = !forward.empty() && step.loss_kind == LossKind::kSoftmaxCrossEntropy;
    if (may_end_in_softmax) judged = AddLogitsOutput(model, scores, step.logits);
    return absl::OkStatus();
  }));
  tested.scores = PortOf(*tested.session, scores);
  if (!judged.empty()) tested.judged = PortOf(*tested.session, judged);
  return tested;
}

// Creates an evaluator of the forward model. Errors: a step or a model that cannot be tested.
absl::StatusOr<std::vector<InputType>> InputsOfTest(const Trainer& trainer, const TrainArguments& arguments,
                                                    const char* flag) {
  if (trainer.description().labels.empty())
    return UsageError(flag, ": the loss is the model's own, so that nothing says what is right");
  AMP_ASSIGN_OR_RETURN(const Tested tested, MakeTested(trainer, arguments.forward));
  const Session* const session = tested.session.get();
  if (const std::string node = FindTrainingNode(session->model().proto()); !node.empty()) {
    return UsageError(flag, ": node ", node, " of ", Escaped(arguments.forward),
                      " runs as in training: expected a --forward model without training_mode");
  }
  std::vector<InputType> inputs;
  for (const std::string& name : session->InputNames()) {
    AMP_ASSIGN_OR_RETURN(inputs.emplace_back(), FindInput(*session, name));
  }
  return inputs;
}

Tensor TensorAt(const std::vector<Datum>& outputs, size_t port) {
  return outputs[port].tensor() == nullptr ? Tensor() : *outputs[port].tensor();
}

}  // namespace

absl::StatusOr<Evaluator> Evaluator::Create(const Trainer& trainer, const TrainArguments& arguments,
                                            int64_t num_classes, int64_t batch) {
  const StepDescription& step = trainer.description();
  Evaluator evaluator;
  evaluator.forward_ = arguments.forward;
  evaluator.batch_ = batch;
  AMP_ASSIGN_OR_RETURN(const std::vector<InputType> inputs, InputsOfTest(trainer, arguments, "--eval-data"));
  AMP_ASSIGN_OR_RETURN(const InputType labels, FindInput(trainer.session(), step.labels));
  AMP_ASSIGN_OR_RETURN(DataSet data, DataSet::Read(arguments.eval_data, inputs, labels, step.label_kind,
                                                   {.flag = "--eval-data",
                                                    .fit = arguments.fit,
                                                    .num_classes = num_classes,
                                                    .device = arguments.session.device.get()}));
  const int64_t num_samples = data.num_samples();
  AMP_RETURN_IF_ERROR(data.CheckBatch(std::min(batch, num_samples), num_samples % batch));
  evaluator.data_ = std::make_shared<const DataSet>(std::move(data));
  return evaluator;
}

absl::StatusOr<Evaluator> Evaluator::CreateOnRest(const Trainer& trainer, const TrainArguments& arguments,
                                                  std::shared_ptr<const DataSet> data, int64_t first, int64_t batch) {
  Evaluator evaluator;
  evaluator.forward_ = arguments.forward;
  evaluator.batch_ = batch;
  evaluator.first_ = first;
  AMP_ASSIGN_OR_RETURN(const std::vector<InputType> inputs, InputsOfTest(trainer, arguments, "--validation-split"));
  for (const InputType& input : inputs) {
    if (!input.is_read || data->Has(input.name)) continue;
    return UsageError("--validation-split: input '", Escaped(input.name), "' of the forward model has no --data");
  }
  const int64_t num_samples = data->num_samples() - first;
  AMP_RETURN_IF_ERROR(data->CheckBatch(std::min(batch, num_samples), num_samples % batch));
  evaluator.data_ = std::move(data);
  return evaluator;
}

absl::StatusOr<Evaluation> Evaluator::Evaluate(const Trainer& trainer, Ranks& ranks) const {
  const StepDescription& step = trainer.description();
  AMP_ASSIGN_OR_RETURN(const Tested tested, MakeTested(trainer, forward_));
  const bool is_error = step.loss_kind == LossKind::kMse;
  const std::vector<std::string> wanted = tested.session->InputNames();
  double right = 0, num_judged = 0, loss = 0, num_with_loss = 0, absolute_error = 0, num_measured = 0;
  bool has_accuracy = step.label_kind != LabelKind::kTarget, has_loss = tested.judged.has_value();
  for (int64_t first = first_ + ranks.rank() * batch_; first < data_->num_samples(); first += ranks.size() * batch_) {
    std::vector<int64_t> rows(static_cast<size_t>(std::min(batch_, data_->num_samples() - first)));
    std::iota(rows.begin(), rows.end(), first);
    AMP_ASSIGN_OR_RETURN(NamedDatums batch, data_->Batch(rows));
    const Tensor labels = *batch[step.labels].tensor();
    absl::erase_if(batch, [&](const auto& column) { return !absl::c_linear_search(wanted, column.first); });
    AMP_ASSIGN_OR_RETURN(const std::vector<Datum> outputs, tested.session->Run(batch));
    const auto hits = has_accuracy ? CountRight(TensorAt(outputs, tested.scores), labels) : std::nullopt;
    const Tensor judged = has_loss ? TensorAt(outputs, *tested.judged) : Tensor();
    const auto mean = !has_loss  ? std::nullopt
                      : is_error ? MeanSquaredError(judged, labels)
                                 : SoftmaxCrossEntropy(judged, labels);
    has_accuracy = hits.has_value();
    has_loss = mean.has_value();
    const auto num_rows = static_cast<double>(rows.size());
    right += static_cast<double>(hits.value_or(0));
    num_judged += has_accuracy ? num_rows : 0;
    loss += mean.value_or(0) * num_rows;
    num_with_loss += has_loss ? num_rows : 0;
    const bool has_targets = step.label_kind == LabelKind::kTarget && tested.judged.has_value();
    const auto error = has_targets ? MeanAbsoluteError(TensorAt(outputs, *tested.judged), labels) : std::nullopt;
    absolute_error += error.value_or(0) * num_rows;
    num_measured += error.has_value() ? num_rows : 0;
  }
  double sums[] = {right, num_judged, loss, num_with_loss, absolute_error, num_measured};
  AMP_RETURN_IF_ERROR(ranks.Sum(absl::MakeSpan(sums)));
  const auto count = static_cast<double>(data_->num_samples() - first_);
  Evaluation evaluation;
  if (sums[1] == count) evaluation.accuracy = sums[0] / count;
  if (sums[3] == count) evaluation.loss = sums[2] / count;
  if (sums[5] == count) evaluation.absolute_error = sums[4] / count;
  return evaluation;
}

}  // namespace amp
