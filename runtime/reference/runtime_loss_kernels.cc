// The gradient of the cross-entropy, as ONNX Runtime's training graphs have it, from the forward operator's
// log-probabilities [N, C, d1, ...] and labels [N, d1, ...].
//
//   d = com.microsoft.SoftmaxCrossEntropyLossGrad (dy, log_probabilities, labels, weights)
//
// The forward forms, SoftmaxCrossEntropyLossInternal and so on, are beside those of ai.onnx (loss_kernels.cc).
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "runtime/kernel/shape_math.h"
#include "runtime/reference/float_cells.h"
#include "runtime/reference/training_families.h"

namespace amp {
namespace {

enum Port : size_t { kGradient, kLogProbabilities, kLabels, kWeights, kIgnored, kAddend };

// How much the gradient of each label counts; 0 where it is ignored.
struct Labels {
  std::vector<int64_t> classes;
  std::vector<double> factors;
};

absl::StatusOr<std::optional<int64_t>> IgnoredLabel(const KernelContext& context) {
  if (!context.HasInput(kIgnored)) return GetInt(context.node(), "ignore_index");
  AMP_ASSIGN_OR_RETURN(const int64_t ignored, context.InputInt(kIgnored));
  return std::optional<int64_t>(ignored);
}

absl::StatusOr<Labels> ReadLabels(const KernelContext& context, int64_t classes) {
  Dims dims = context.Input(kLogProbabilities).dims();
  dims.erase(dims.begin() + 1);
  if (context.Input(kLabels).dims() != dims) {
    return ModelError("expected labels of shape ", DimsText(dims), ", found ", context.InputDatum(kLabels).TypeText());
  }
  Labels labels;
  AMP_ASSIGN_OR_RETURN(labels.classes, context.InputInts(kLabels));
  AMP_ASSIGN_OR_RETURN(const std::optional<int64_t> ignored, IgnoredLabel(context));
  std::vector<double> weights(static_cast<size_t>(classes), 1.0);
  if (context.HasInput(kWeights)) {
    AMP_ASSIGN_OR_RETURN(weights, ReadFloats(context, kWeights, weights.size()));
  }
  for (int64_t& label : labels.classes) {
    const bool counts = label != ignored;
    if (!counts) label = 0;
    if (label < 0 || label >= classes) return ModelError("expected labels in [0, ", classes, "), found ", label);
    labels.factors.push_back(counts ? weights[static_cast<size_t>(label)] : 0);
  }
  return labels;
}

// Makes each label's factor what comes back to it: of one number, or of one for each label.
absl::Status MultiplyByGradient(const KernelContext& context, Labels& labels) {
  const std::string reduction = GetString(context.node(), "reduction", "mean");
  if (reduction != "mean" && reduction != "sum" && reduction != "none") {
    return ModelError("reduction: expected none, sum or mean, found ", reduction);
  }
  const size_t count = reduction == "none" ? labels.factors.size() : 1;
  AMP_ASSIGN_OR_RETURN(const std::vector<double> dy, ReadFloats(context, kGradient, count));
  double total = 0;
  for (const double factor : labels.factors) total += factor;
  const double divisor = reduction == "mean" && total != 0 ? total : 1;
  for (size_t i = 0; i < labels.factors.size(); ++i) labels.factors[i] *= dy[count == 1 ? 0 : i] / divisor;
  return absl::OkStatus();
}

absl::Status CrossEntropyGrad(KernelContext& context) {
  if (!context.HasInput(kLabels)) return ModelError("expected at least 3 inputs, found ", context.num_inputs());
  const Tensor& log_probabilities = context.Input(kLogProbabilities);
  AMP_ASSIGN_OR_RETURN(const Dims dims, ChannelDims(log_probabilities.dims()));
  AMP_ASSIGN_OR_RETURN(std::vector<double> gradient, ReadFloats(context, kLogProbabilities));
  AMP_ASSIGN_OR_RETURN(Labels labels, ReadLabels(context, dims[1]));
  AMP_RETURN_IF_ERROR(MultiplyByGradient(context, labels));
  const auto classes = static_cast<size_t>(dims[1]), rest = static_cast<size_t>(dims[2]);
  for (size_t i = 0; i < gradient.size(); ++i) {
    const size_t label = i / rest / classes * rest + i % rest;
    const bool is_it = static_cast<int64_t>(i / rest % classes) == labels.classes[label];
    gradient[i] = (std::exp(gradient[i]) - (is_it ? 1 : 0)) * labels.factors[label];
  }
  if (context.HasInput(kAddend)) {
    AMP_ASSIGN_OR_RETURN(const std::vector<double> addend, ReadFloats(context, kAddend, gradient.size()));
    for (size_t i = 0; i < gradient.size(); ++i) gradient[i] += addend[i];
  }
  const DType type = GetDType(context.node(), "output_type").value_or(log_probabilities.dtype());
  return WriteOutput(context, 0, type, log_probabilities.dims(), gradient);
}

constexpr absl::string_view kDomain = "com.microsoft";
constexpr KernelRow kRows[] = {
    {"SoftmaxCrossEntropyLossGrad", CrossEntropyGrad, kDomain},
    {"SoftmaxCrossEntropyLossInternalGrad", CrossEntropyGrad, kDomain},
};

}  // namespace

absl::Span<const KernelRow> RuntimeLossKernels() { return kRows; }

}  // namespace amp
