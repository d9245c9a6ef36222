// Predictors made of decision trees: TreeEnsemble, and the two operators that it took the place of.
//
// Where ONNX leaves open what a classifier with two classes and votes for one of them means, this follows ONNX Runtime:
// the votes are for the second class, even when they name the first one, and the first one has the complement.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "runtime/kernel/doubles.h"
#include "runtime/reference/families.h"
#include "runtime/reference/forest.h"
#include "runtime/reference/post_transform.h"

namespace amp {
namespace {

// Writes [N, targets] of what `predict` makes of each sample.
template <typename Predict>
absl::Status WriteScores(KernelContext& context, size_t port, DType dtype, size_t targets, Predict predict) {
  AMP_ASSIGN_OR_RETURN(const Samples samples, ReadSamples(context));
  AMP_ASSIGN_OR_RETURN(
      Tensor * y,
      context.MakeOutput(port, dtype, {static_cast<int64_t>(samples.count), static_cast<int64_t>(targets)}));
  std::vector<double> all;
  for (size_t i = 0; i < samples.count; ++i) {
    AMP_ASSIGN_OR_RETURN(const std::vector<double> scores, predict(samples.row(i)));
    all.insert(all.end(), scores.begin(), scores.end());
  }
  return WriteDoubles(all, *y);
}

absl::Status TreeEnsemble(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Forest forest, ReadTreeEnsemble(context));
  const int64_t aggregation = GetInt(context.node(), "aggregate_function", 1);
  const int64_t transform = GetInt(context.node(), "post_transform", 0);
  if (aggregation < 0 || aggregation > 3) return ModelError("aggregate_function: expected 0 to 3, found ", aggregation);
  if (transform < 0 || transform > 4) return ModelError("post_transform: expected 0 to 4, found ", transform);
  return WriteScores(context, 0, context.Input(0).dtype(), forest.targets,
                     [&](absl::Span<const double> sample) -> absl::StatusOr<std::vector<double>> {
                       AMP_ASSIGN_OR_RETURN(std::vector<double> scores,
                                            Evaluate(forest, sample, static_cast<Aggregation>(aggregation)));
                       ApplyPostTransform(static_cast<PostTransform>(transform), absl::MakeSpan(scores));
                       return scores;
                     });
}

// One for each target: none is 0 for all, one is the same for all.
absl::StatusOr<std::vector<double>> ReadBaseValues(const KernelContext& context, size_t targets) {
  AMP_ASSIGN_OR_RETURN(std::vector<double> values, ReadNumbers(context, "base_values"));
  if (values.empty()) values = {0};
  if (values.size() == 1) values.assign(targets, values[0]);
  if (values.size() == targets) return values;
  return ModelError("base_values: expected ", targets, ", found ", values.size());
}

absl::StatusOr<Aggregation> ReadAggregation(const KernelContext& context) {
  static constexpr absl::string_view kNames[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const std::string name = GetString(context.node(), "aggregate_function", "SUM");
  const auto* const it = std::find(std::begin(kNames), std::end(kNames), name);
  if (it != std::end(kNames)) return static_cast<Aggregation>(it - std::begin(kNames));
  return ModelError("aggregate_function: expected AVERAGE, SUM, MIN or MAX, found ", Escaped(name));
}

absl::Status TreeEnsembleRegressor(KernelContext& context) {
  const int64_t targets = GetInt(context.node(), "n_targets", 1);
  if (targets < 1 || targets > kMaxElements) return ModelError("n_targets: expected at least 1, found ", targets);
  AMP_ASSIGN_OR_RETURN(const Aggregation aggregation, ReadAggregation(context));
  AMP_ASSIGN_OR_RETURN(const PostTransform transform, ReadPostTransform(context));
  AMP_ASSIGN_OR_RETURN(const Forest forest, ReadOldTreeEnsemble(context, "target", static_cast<size_t>(targets)));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> base_values, ReadBaseValues(context, forest.targets));
  return WriteScores(context, 0, DType::kFloat32, forest.targets,
                     [&](absl::Span<const double> sample) -> absl::StatusOr<std::vector<double>> {
                       AMP_ASSIGN_OR_RETURN(std::vector<double> scores, Evaluate(forest, sample, aggregation));
                       for (size_t i = 0; i < scores.size(); ++i) scores[i] += base_values[i];
                       ApplyPostTransform(transform, absl::MakeSpan(scores));
                       return scores;
                     });
}

// How scores say which class it is.
struct Verdict {
  bool is_for_one_class = false;  // of two: by the score of `voted` alone
  size_t voted = 0;
  SecondClass second_class = SecondClass::kOpposite;
};

Verdict VerdictOf(const Forest& forest) {
  const std::vector<Vote>& votes = forest.votes;
  if (forest.targets != 2 || votes.empty()) return {};
  const auto is_same = [&](const Vote& vote) { return vote.target == votes[0].target; };
  const auto is_positive = [](const Vote& vote) { return vote.weight >= 0; };
  const bool are_positive = std::all_of(votes.begin(), votes.end(), is_positive);
  return {.is_for_one_class = std::all_of(votes.begin(), votes.end(), is_same),
          .voted = votes[0].target,
          .second_class = are_positive ? SecondClass::kComplement : SecondClass::kOpposite};
}

size_t ClassOf(const Verdict& verdict, absl::Span<const double> scores) {
  if (!verdict.is_for_one_class) return IndexOfLargest(scores);
  return scores[verdict.voted] > (verdict.second_class == SecondClass::kComplement ? 0.5 : 0) ? 1 : 0;
}

absl::Status TreeEnsembleClassifier(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const ClassLabels labels, ReadClassLabels(context, "classlabels_int64s"));
  AMP_ASSIGN_OR_RETURN(const PostTransform transform, ReadPostTransform(context));
  AMP_ASSIGN_OR_RETURN(const Forest forest, ReadOldTreeEnsemble(context, "class", labels.size()));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> base_values, ReadBaseValues(context, forest.targets));
  const Verdict verdict = VerdictOf(forest);
  std::vector<size_t> classes;
  const auto predict = [&](absl::Span<const double> sample) -> absl::StatusOr<std::vector<double>> {
    AMP_ASSIGN_OR_RETURN(std::vector<double> scores, Evaluate(forest, sample, Aggregation::kSum));
    for (size_t i = 0; i < scores.size(); ++i) scores[i] += base_values[i];
    classes.push_back(ClassOf(verdict, scores));
    if (verdict.is_for_one_class && verdict.voted == 0) return ScoresOfTwo(scores[0], transform, verdict.second_class);
    ApplyPostTransform(transform, absl::MakeSpan(scores));
    return scores;
  };
  AMP_RETURN_IF_ERROR(WriteScores(context, 1, DType::kFloat32, forest.targets, predict));
  return WriteLabels(context, labels, classes);
}

constexpr absl::string_view kDomain = "ai.onnx.ml";
constexpr KernelRow kRows[] = {
    {"TreeEnsemble", TreeEnsemble, kDomain},
    {"TreeEnsembleRegressor", TreeEnsembleRegressor, kDomain},
    {"TreeEnsembleClassifier", TreeEnsembleClassifier, kDomain},
};

}  // namespace

absl::Span<const KernelRow> TreesKernels() { return kRows; }

}  // namespace amp
