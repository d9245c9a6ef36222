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
#include "runtime/kernel/parallel_for.h"
#include "runtime/reference/families.h"
#include "runtime/reference/forest.h"
#include "runtime/reference/post_transform.h"
#include "runtime/reference/read_once.h"

namespace amp {
namespace {

// How scores say which class it is.
struct Verdict {
  bool is_for_one_class = false;  // of two: by the score of `voted` alone
  size_t voted = 0;
  SecondClass second_class = SecondClass::kOpposite;
};

// All that a node's attributes say.
struct Predictor {
  Forest forest;
  Aggregation aggregation = Aggregation::kSum;
  std::vector<double> base_values;  // [targets], or none
  PostTransform transform = PostTransform::kNone;
  ClassLabels labels;  // of a classifier, as is the next
  Verdict verdict;
};

// Returns the number of samples that go down a tree before the next. In a forest that fits a cache, one is faster:
// processors predict better where a sample goes that went somewhere else before.
size_t SamplesAtOnce(const Forest& forest) {
  constexpr size_t kCachedBytes = size_t{1} << 18, kOfLargeForest = 64;
  return forest.nodes.size() * sizeof(TreeNode) > kCachedBytes ? kOfLargeForest : 1;
}

// Gives `visit` the index and the scores of each of these samples.
template <typename Visit>
absl::Status VisitScores(const Predictor& predictor, const Samples& samples, const Share& share, const Visit& visit) {
  const size_t targets = predictor.forest.targets;
  const size_t at_once = SamplesAtOnce(predictor.forest);
  for (size_t first = share.first; first < share.end; first += at_once) {
    const size_t end = std::min(first + at_once, share.end);
    AMP_ASSIGN_OR_RETURN(const std::vector<double> all,
                         Evaluate(predictor.forest, samples, first, end, predictor.aggregation));
    for (size_t i = first; i < end; ++i) {
      const absl::Span<const double> row = absl::MakeConstSpan(all).subspan((i - first) * targets, targets);
      std::vector<double> scores(row.begin(), row.end());
      for (size_t j = 0; j < predictor.base_values.size(); ++j) scores[j] += predictor.base_values[j];
      visit(i, std::move(scores));
    }
  }
  return absl::OkStatus();
}

// Writes [N, targets] of what `predict` makes of the index and the scores of each sample.
template <typename Predict>
absl::Status WriteScores(KernelContext& context, size_t port, DType dtype, const Predictor& predictor,
                         const Predict& predict) {
  constexpr size_t kCostOfTree = 16;
  const size_t targets = predictor.forest.targets;
  AMP_ASSIGN_OR_RETURN(const Samples samples, ReadSamples(context));
  AMP_ASSIGN_OR_RETURN(
      Tensor * y,
      context.MakeOutput(port, dtype, {static_cast<int64_t>(samples.count), static_cast<int64_t>(targets)}));
  std::vector<double> all(samples.count * targets);
  std::vector<absl::Status> statuses(MostShares());
  ParallelFor(samples.count, predictor.forest.roots.size() * kCostOfTree, [&](const Share& share) {
    statuses[share.index] = VisitScores(predictor, samples, share, [&](size_t i, std::vector<double> scores) {
      std::ranges::copy(predict(i, std::move(scores)), &all[i * targets]);
    });
  });
  for (absl::Status& status : statuses) AMP_RETURN_IF_ERROR(std::move(status));
  return WriteDoubles(all, *y);
}

absl::Status WriteTransformed(KernelContext& context, DType dtype, const Predictor& predictor) {
  return WriteScores(context, 0, dtype, predictor, [&](size_t, std::vector<double> scores) {
    ApplyPostTransform(predictor.transform, absl::MakeSpan(scores));
    return scores;
  });
}

absl::StatusOr<Predictor> ReadEnsemble(const KernelContext& context) {
  Predictor predictor;
  AMP_ASSIGN_OR_RETURN(predictor.forest, ReadTreeEnsemble(context));
  const int64_t aggregation = GetInt(context.node(), "aggregate_function", 1);
  const int64_t transform = GetInt(context.node(), "post_transform", 0);
  if (aggregation < 0 || aggregation > 3) return ModelError("aggregate_function: expected 0 to 3, found ", aggregation);
  if (transform < 0 || transform > 4) return ModelError("post_transform: expected 0 to 4, found ", transform);
  predictor.aggregation = static_cast<Aggregation>(aggregation);
  predictor.transform = static_cast<PostTransform>(transform);
  return predictor;
}

absl::Status TreeEnsemble(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const auto predictor, ReadOnce<Predictor>(context, [&] { return ReadEnsemble(context); }));
  return WriteTransformed(context, context.Input(0).dtype(), *predictor);
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

absl::StatusOr<Predictor> ReadRegressor(const KernelContext& context) {
  const int64_t targets = GetInt(context.node(), "n_targets", 1);
  if (targets < 1 || targets > kMaxElements) return ModelError("n_targets: expected at least 1, found ", targets);
  Predictor predictor;
  AMP_ASSIGN_OR_RETURN(predictor.aggregation, ReadAggregation(context));
  AMP_ASSIGN_OR_RETURN(predictor.transform, ReadPostTransform(context));
  AMP_ASSIGN_OR_RETURN(predictor.forest, ReadOldTreeEnsemble(context, "target", static_cast<size_t>(targets)));
  AMP_ASSIGN_OR_RETURN(predictor.base_values, ReadBaseValues(context, predictor.forest.targets));
  return predictor;
}

absl::Status TreeEnsembleRegressor(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const auto predictor, ReadOnce<Predictor>(context, [&] { return ReadRegressor(context); }));
  return WriteTransformed(context, DType::kFloat32, *predictor);
}

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

absl::StatusOr<Predictor> ReadClassifier(const KernelContext& context) {
  Predictor predictor;
  AMP_ASSIGN_OR_RETURN(predictor.labels, ReadClassLabels(context, "classlabels_int64s"));
  AMP_ASSIGN_OR_RETURN(predictor.transform, ReadPostTransform(context));
  AMP_ASSIGN_OR_RETURN(predictor.forest, ReadOldTreeEnsemble(context, "class", predictor.labels.size()));
  AMP_ASSIGN_OR_RETURN(predictor.base_values, ReadBaseValues(context, predictor.forest.targets));
  predictor.verdict = VerdictOf(predictor.forest);
  return predictor;
}

absl::Status TreeEnsembleClassifier(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const auto predictor, ReadOnce<Predictor>(context, [&] { return ReadClassifier(context); }));
  const Verdict& verdict = predictor->verdict;
  const Tensor& x = context.Input(0);
  std::vector<size_t> classes(x.rank() == 2 ? static_cast<size_t>(x.dim(0)) : 1);
  const auto predict = [&](size_t i, std::vector<double> scores) {
    classes[i] = ClassOf(verdict, scores);
    if (verdict.is_for_one_class && verdict.voted == 0) {
      return ScoresOfTwo(scores[0], predictor->transform, verdict.second_class);
    }
    ApplyPostTransform(predictor->transform, absl::MakeSpan(scores));
    return scores;
  };
  AMP_RETURN_IF_ERROR(WriteScores(context, 1, DType::kFloat32, *predictor, predict));
  return WriteLabels(context, predictor->labels, classes);
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
