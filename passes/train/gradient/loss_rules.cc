// Losses: those of training (loss_functions.h) have gradients that are functions of their own, of the operands and the
// loss's gradient. Those of ONNX have classes along axis 1:
//
//   SoftmaxCrossEntropyLoss:     dx = s (softmax (x) - one_hot (label))
//   NegativeLogLikelihoodLoss:   dx = -s one_hot (label)
//
// with s what a label counts for: its weight times g, over the sum of all weights for a mean, 0 where it is ignored.
#include <numeric>

#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "passes/train/gradient/gradient_rule.h"
#include "passes/train/gradient/loss_functions.h"

namespace amp {
namespace {

template <const AmpFunction& kGradient>
absl::Status OfPrediction(Backward& node) {
  const std::vector<Term> operands = {node.Input(0), node.Input(1), node.Gradient()};
  const Term gradient = node.write().Call(kGradient, operands, 1, DType::kFloat32).front();
  node.Give(0, Cast(gradient, node.Input(0).dtype()));
  return absl::OkStatus();
}

// The labels of ONNX's losses, with an axis of one for the classes.
struct Labels {
  Term share;    // what each counts for
  Term one_hot;  // NaN where a label is no class: 0 / 0
};

Labels LabelsOf(Backward& node, int64_t rank) {
  TermWriter& write = node.write();
  const DType type = node.Input(0).dtype();
  Term label = Cast(node.Input(1), DType::kInt64);
  const bool may_ignore = HasAttribute(node.node(), "ignore_index");
  const Term is_ignored = may_ignore ? IsEqual(label, write.Integer(node.Int("ignore_index", 0))) : Term();
  if (may_ignore) label = Where(is_ignored, 0, label);
  Term weight = node.HasInput(2) ? write.Op("Gather", {node.Input(2), label})
                                 : Expand(write.Number(1, type), write.ShapeOf(node.InputId(1)));
  if (may_ignore) weight = Where(is_ignored, 0, weight);
  const bool is_mean = node.String("reduction", "mean") == "mean";
  const Term sum = is_mean ? write.Op("ReduceSum", {weight}, {{"keepdims", int64_t{0}}}) : Term();
  const Term share = weight * (is_mean ? node.Gradient() / sum : node.Gradient());

  Axes behind(static_cast<size_t>(rank - 2));
  std::iota(behind.begin(), behind.end(), 1);
  const Term num_classes = Squeeze(write.DimOf(node.InputId(0), 1), {0});
  Term classes = write.Op("Range", {write.Integer(0), num_classes, write.Integer(1)});
  if (!behind.empty()) classes = Unsqueeze(classes, behind);
  const Term ones = Cast(IsEqual(Unsqueeze(label, {1}), classes), type);
  return {Unsqueeze(share, {1}), ones / Sum(ones, {1}, KeepDims::kYes)};
}

absl::Status CrossEntropy(Backward& node) {
  const auto rank = node.Rank(node.InputId(0));
  if (!rank.has_value() || *rank < 2) return Backward::Refuse("the rank of its operand has to be known");
  const Labels labels = LabelsOf(node, *rank);
  const Term p = node.write().Op("Softmax", {node.Input(0)}, {{"axis", int64_t{1}}});
  node.Give(0, labels.share * (p - labels.one_hot));
  return absl::OkStatus();
}

absl::Status LogLikelihood(Backward& node) {
  const auto rank = node.Rank(node.InputId(0));
  if (!rank.has_value() || *rank < 2) return Backward::Refuse("the rank of its operand has to be known");
  const Labels labels = LabelsOf(node, *rank);
  node.Give(0, -(labels.share * labels.one_hot));
  return absl::OkStatus();
}

constexpr Ports kLabels = Port(1);
constexpr GradientRule kRules[] = {
    {"NegativeLogLikelihoodLoss", LogLikelihood, PortsFrom(1)},
    {"SoftmaxCrossEntropyLoss", CrossEntropy, PortsFrom(1)},
    {"SparseSoftmaxCrossEntropy", OfPrediction<kSparseSoftmaxCrossEntropyGradient>, kLabels, Port(0), "ai.amp"},
    {"SoftmaxCrossEntropy", OfPrediction<kSoftmaxCrossEntropyGradient>, kLabels, Port(0), "ai.amp"},
    {"MeanSquaredError", OfPrediction<kMeanSquaredErrorGradient>, kLabels, Port(0), "ai.amp"},
};

}  // namespace

absl::Span<const GradientRule> LossRules() { return kRules; }

}  // namespace amp
