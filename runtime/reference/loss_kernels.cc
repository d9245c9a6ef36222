// Losses of classification: minus the log-probability of the class that a label names, for scores [N, C, d1, ...] and
// labels [N, d1, ...].
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/kernel/shape_math.h"
#include "runtime/reference/families.h"
#include "runtime/reference/float_cells.h"

namespace amp {
namespace {

// A label: its class and its weight. Ignored labels have weight 0.
struct Label {
  size_t index = 0;
  double weight = 0;
};

absl::StatusOr<std::vector<double>> ReadWeights(const KernelContext& context, int64_t classes) {
  if (context.HasInput(2)) return ReadFloats(context, 2, static_cast<size_t>(classes));
  return std::vector<double>(static_cast<size_t>(classes), 1.0);
}

// By attribute, or by the input that ONNX Runtime's forms have for it.
absl::StatusOr<std::optional<int64_t>> IgnoredLabel(const KernelContext& context) {
  if (!context.HasInput(3)) return GetInt(context.node(), "ignore_index");
  AMP_ASSIGN_OR_RETURN(const int64_t ignored, context.InputInt(3));
  return std::optional<int64_t>(ignored);
}

// Returns the type of the losses; ONNX Runtime's forms may state another one than that of the scores.
DType LossType(const KernelContext& context) {
  return GetDType(context.node(), "output_type").value_or(context.Input(0).dtype());
}

absl::StatusOr<std::vector<Label>> ReadLabels(const KernelContext& context, const Dims& dims) {
  const int64_t classes = context.Input(0).dim(1);
  AMP_ASSIGN_OR_RETURN(const std::optional<int64_t> ignored, IgnoredLabel(context));
  if (context.Input(1).dims() != dims) {
    return ModelError("expected labels of shape ", DimsText(dims), ", found ", context.Input(1).TypeText());
  }
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, context.InputInts(1));
  std::vector<Label> labels;
  if (indices.empty()) return labels;
  AMP_ASSIGN_OR_RETURN(const std::vector<double> weights, ReadWeights(context, classes));
  for (const int64_t index : indices) {
    if (index == ignored) {
      labels.emplace_back();
      continue;
    }
    if (index < 0 || index >= classes) return ModelError("expected labels in [0, ", classes, "), found ", index);
    labels.push_back({static_cast<size_t>(index), weights[static_cast<size_t>(index)]});
  }
  return labels;
}

// Output 0, of log-probabilities that lie as input 0 does.
absl::Status WriteLoss(KernelContext& context, absl::Span<const double> log_probabilities) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const Dims channels, ChannelDims(x.dims()));
  Dims dims = x.dims();
  dims.erase(dims.begin() + 1);
  AMP_ASSIGN_OR_RETURN(const std::vector<Label> labels, ReadLabels(context, dims));
  const auto classes = static_cast<size_t>(channels[1]), rest = static_cast<size_t>(channels[2]);
  std::vector<double> losses(labels.size(), 0.0);
  double sum = 0, total_weight = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i].weight == 0) continue;
    const size_t place = (i / rest * classes + labels[i].index) * rest + i % rest;
    losses[i] = -log_probabilities[place] * labels[i].weight;
    sum += losses[i];
    total_weight += labels[i].weight;
  }
  const std::string reduction = GetString(context.node(), "reduction", "mean");
  if (reduction == "none") return WriteOutput(context, 0, LossType(context), dims, losses);
  if (reduction == "sum") return WriteOutput(context, 0, LossType(context), {}, {sum});
  if (reduction == "mean") return WriteOutput(context, 0, LossType(context), {}, {sum / total_weight});
  return ModelError("reduction: expected none, sum or mean, found ", reduction);
}

absl::Status NegativeLogLikelihoodLoss(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const std::vector<double> values, ReadFloats(context, 0));
  return WriteLoss(context, values);
}

absl::Status SoftmaxCrossEntropyLoss(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const Dims channels, ChannelDims(x.dims()));
  AMP_ASSIGN_OR_RETURN(std::vector<double> values, ReadFloats(context, 0));
  TransformCells(channels, {1}, absl::MakeSpan(values),
                 [](size_t, absl::Span<double> scores) { ToLogSoftmax(scores); });
  AMP_RETURN_IF_ERROR(WriteOutput(context, 1, LossType(context), x.dims(), values));
  return WriteLoss(context, values);
}

constexpr KernelRow kRows[] = {
    {"NegativeLogLikelihoodLoss", NegativeLogLikelihoodLoss},
    {"SoftmaxCrossEntropyLoss", SoftmaxCrossEntropyLoss},
    {"NegativeLogLikelihoodLossInternal", NegativeLogLikelihoodLoss, "com.microsoft"},
    {"NegativeLogLikelihoodLossInternal2", NegativeLogLikelihoodLoss, "com.microsoft"},
    {"SoftmaxCrossEntropyLossInternal", SoftmaxCrossEntropyLoss, "com.microsoft"},
};

}  // namespace

absl::Span<const KernelRow> LossKernels() { return kRows; }

}  // namespace amp
