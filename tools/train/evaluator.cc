#include "tools/train/evaluator.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "ir/base/status.h"
#include "ir/functions/cut_model.h"
#include "ir/graph/graph.h"
#include "tools/train/judge_batch.h"

namespace amp {
namespace {

// The only output, or the one that the step graph names.
absl::StatusOr<size_t> FindScores(const Session& session, const std::string& logits) {
  const std::vector<std::string> names = session.OutputNames();
  if (names.size() == 1) return size_t{0};
  const auto it = std::find(names.begin(), names.end(), logits);
  if (it != names.end()) return static_cast<size_t>(it - names.begin());
  return UsageError("expected a forward model with one output, or one named '", Escaped(logits), "'; found ",
                    QuotedFirstOf(names));
}

}  // namespace

absl::StatusOr<Evaluator> Evaluator::Create(const Trainer& trainer, const TrainArguments& arguments,
                                            int64_t num_classes, int64_t batch) {
  const StepDescription& step = trainer.description();
  if (step.labels.empty())
    return UsageError("--eval-data: the loss is the model's own, so that nothing says what is right");
  Evaluator evaluator;
  evaluator.forward_ = arguments.forward;
  evaluator.batch_ = batch;
  AMP_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, trainer.MakeForward(arguments.forward));
  if (const std::string node = FindTrainingNode(session->model().proto()); !node.empty()) {
    return UsageError("--eval-data: node ", node, " of ", Escaped(arguments.forward),
                      " runs as in training: expected a --forward model without training_mode");
  }
  absl::StatusOr<size_t> port = FindScores(*session, step.logits);
  if (!port.ok()) return InFile(Escaped(arguments.forward), port.status());
  evaluator.port_ = *port;
  std::vector<InputType> inputs;
  for (const std::string& name : session->InputNames()) {
    AMP_ASSIGN_OR_RETURN(inputs.emplace_back(), FindInput(*session, name));
  }
  AMP_ASSIGN_OR_RETURN(const InputType labels, FindInput(trainer.session(), step.labels));
  AMP_ASSIGN_OR_RETURN(evaluator.data_, DataSet::Read(arguments.eval_data, inputs, labels, step.label_kind,
                                                      {.flag = "--eval-data",
                                                       .fit = arguments.fit,
                                                       .num_classes = num_classes,
                                                       .device = arguments.session.device.get()}));
  const int64_t num_samples = evaluator.data_.num_samples();
  AMP_RETURN_IF_ERROR(evaluator.data_.CheckBatch(std::min(batch, num_samples), num_samples % batch));
  return evaluator;
}

absl::StatusOr<Evaluation> Evaluator::Evaluate(const Trainer& trainer, Ranks& ranks) const {
  const StepDescription& step = trainer.description();
  AMP_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, trainer.MakeForward(forward_));
  // A forward model of the user's may end in Softmax or not: its loss is not known.
  const bool are_logits = forward_.empty() && step.loss_kind == LossKind::kSoftmaxCrossEntropy;
  double right = 0, num_judged = 0, loss = 0, num_with_loss = 0;
  bool has_accuracy = step.label_kind != LabelKind::kTarget, has_loss = are_logits || step.loss_kind == LossKind::kMse;
  for (int64_t first = ranks.rank() * batch_; first < data_.num_samples(); first += ranks.size() * batch_) {
    std::vector<int64_t> rows(static_cast<size_t>(std::min(batch_, data_.num_samples() - first)));
    std::iota(rows.begin(), rows.end(), first);
    AMP_ASSIGN_OR_RETURN(NamedDatums batch, data_.Batch(rows));
    const Tensor labels = *batch[step.labels].tensor();
    batch.erase(step.labels);
    AMP_ASSIGN_OR_RETURN(const std::vector<Datum> outputs, session->Run(batch));
    const Tensor scores = outputs[port_].tensor() == nullptr ? Tensor() : *outputs[port_].tensor();
    const auto hits = has_accuracy ? CountRight(scores, labels) : std::nullopt;
    const auto mean = !has_loss    ? std::nullopt
                      : are_logits ? SoftmaxCrossEntropy(scores, labels)
                                   : MeanSquaredError(scores, labels);
    has_accuracy = hits.has_value();
    has_loss = mean.has_value();
    const auto num_rows = static_cast<double>(rows.size());
    right += static_cast<double>(hits.value_or(0));
    num_judged += has_accuracy ? num_rows : 0;
    loss += mean.value_or(0) * num_rows;
    num_with_loss += has_loss ? num_rows : 0;
  }
  double sums[] = {right, num_judged, loss, num_with_loss};
  AMP_RETURN_IF_ERROR(ranks.Sum(absl::MakeSpan(sums)));
  const auto count = static_cast<double>(data_.num_samples());
  Evaluation evaluation;
  if (sums[1] == count) evaluation.accuracy = sums[0] / count;
  if (sums[3] == count) evaluation.loss = sums[2] / count;
  return evaluation;
}

}  // namespace amp
