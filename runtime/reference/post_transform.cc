#include "runtime/reference/post_transform.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "ir/base/status.h"
#include "runtime/kernel/doubles.h"

namespace amp {
namespace {

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

// By Newton's method, from an approximation that is good to three digits.
double InverseErf(double y) {
  if (std::fabs(y) >= 1 || std::isnan(y)) {
    return std::fabs(y) == 1 ? std::copysign(std::numeric_limits<double>::infinity(), y) : NAN;
  }
  constexpr double kA = 0.147;
  const double log = std::log1p(-y * y), b = 2 / (std::numbers::pi * kA) + log / 2;
  double x = std::copysign(std::sqrt(std::sqrt(b * b - log / kA) - b), y);
  for (int i = 0; i < 4; ++i) x -= (std::erf(x) - y) / (2 * std::numbers::inv_sqrtpi * std::exp(-x * x));
  return x;
}

double Probit(double p) { return std::numbers::sqrt2 * InverseErf(2 * p - 1); }

// kSoftmaxZero: scores of 0 stay out of it.
void ApplySoftmax(absl::Span<double> scores, PostTransform transform) {
  constexpr double kZero = 1e-7;
  if (scores.empty()) return;
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) {
    const bool stays = transform == PostTransform::kSoftmaxZero && std::fabs(score) <= kZero;
    score = stays ? 0 : std::exp(score - largest);
    sum += score;
  }
  if (sum == 0) return;
  for (double& score : scores) score /= sum;
}

}  // namespace

absl::StatusOr<PostTransform> ReadPostTransform(const KernelContext& context) {
  const std::string name = GetString(context.node(), "post_transform", "NONE");
  if (name == "NONE") return PostTransform::kNone;
  if (name == "SOFTMAX") return PostTransform::kSoftmax;
  if (name == "LOGISTIC") return PostTransform::kLogistic;
  if (name == "SOFTMAX_ZERO") return PostTransform::kSoftmaxZero;
  if (name == "PROBIT") return PostTransform::kProbit;
  return ModelError("post_transform: expected NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT, found ", Escaped(name));
}

void ApplyPostTransform(PostTransform transform, absl::Span<double> scores) {
  switch (transform) {
    case PostTransform::kNone:
      return;
    case PostTransform::kSoftmax:
    case PostTransform::kSoftmaxZero:
      return ApplySoftmax(scores, transform);
    case PostTransform::kLogistic:
      std::transform(scores.begin(), scores.end(), scores.begin(), Logistic);
      return;
    case PostTransform::kProbit:
      std::transform(scores.begin(), scores.end(), scores.begin(), Probit);
      return;
  }
}

std::vector<double> ScoresOfTwo(double score, PostTransform transform, SecondClass second_class) {
  if (transform == PostTransform::kLogistic) return {Logistic(-score), Logistic(score)};
  if (transform == PostTransform::kProbit) return {Probit(1 - score), Probit(score)};
  return {second_class == SecondClass::kComplement ? 1 - score : -score, score};
}

absl::StatusOr<ClassLabels> ReadClassLabels(const KernelContext& context, absl::string_view ints_name) {
  ClassLabels labels{GetInts(context.node(), ints_name).value_or(std::vector<int64_t>()),
                     GetStrings(context.node(), "classlabels_strings").value_or(std::vector<std::string>())};
  if (labels.ints.empty() != labels.strings.empty()) return labels;
  return ModelError("expected either classlabels_strings or ", ints_name, ", found ",
                    labels.ints.empty() ? "none" : "both");
}

absl::Status WriteLabels(KernelContext& context, const ClassLabels& labels, absl::Span<const size_t> classes) {
  const bool are_strings = !labels.strings.empty();
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, are_strings ? DType::kString : DType::kInt64,
                                                      {static_cast<int64_t>(classes.size())}));
  for (size_t i = 0; i < classes.size(); ++i) {
    if (are_strings) {
      y->mutable_elements<std::string>()[i] = labels.strings[classes[i]];
    } else {
      y->mutable_elements<int64_t>()[i] = labels.ints[classes[i]];
    }
  }
  return absl::OkStatus();
}

size_t IndexOfLargest(absl::Span<const double> scores) {
  return static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

absl::StatusOr<Samples> ReadSamples(const KernelContext& context) {
  const Tensor& x = context.Input(0);
  if (x.rank() != 1 && x.rank() != 2) return ModelError("expected shape [N,F] or [F], found ", x.TypeText());
  Samples samples{.count = x.rank() == 1 ? 1 : static_cast<size_t>(x.dim(0)),
                  .features = static_cast<size_t>(x.dims().back()),
                  .values = {}};
  AMP_ASSIGN_OR_RETURN(samples.values, ReadDoubles(x));
  return samples;
}

}  // namespace amp
