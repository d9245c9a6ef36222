#include "tools/data/judge_batch.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/types/span.h"
#include "runtime/kernel/doubles.h"

namespace amp {
namespace {

using Row = absl::Span<const double>;

std::ptrdiff_t Largest(Row row) { return std::max_element(row.begin(), row.end()) - row.begin(); }

// Rows of scores beside the classes that they should have; no rows where the two do not fit.
struct Judged {
  std::vector<double> scores;
  std::vector<size_t> classes;
  size_t width = 0;
  Row row(size_t i) const { return Row(scores).subspan(i * width, width); }
};

std::optional<Judged> Pair(const Tensor& scores, const Tensor& labels) {
  if (scores.rank() != 2 || labels.rank() == 0 || labels.dim(0) != scores.dim(0) || scores.dim(1) == 0)
    return std::nullopt;
  absl::StatusOr<std::vector<double>> values = ReadDoubles(scores), wanted = ReadDoubles(labels);
  if (!values.ok() || !wanted.ok()) return std::nullopt;
  Judged judged{.scores = *std::move(values), .classes = {}, .width = static_cast<size_t>(scores.dim(1))};
  for (size_t i = 0; i < static_cast<size_t>(labels.dim(0)); ++i) {
    if (labels.rank() == 1) {
      const double label = (*wanted)[i];
      if (!(label >= 0 && label < static_cast<double>(judged.width))) return std::nullopt;
      judged.classes.push_back(static_cast<size_t>(label));
    } else if (labels.dims() == scores.dims()) {
      judged.classes.push_back(static_cast<size_t>(Largest(Row(*wanted).subspan(i * judged.width, judged.width))));
    } else {
      return std::nullopt;
    }
  }
  return judged;
}

// The mean of what `measure` makes of the differences; nothing where shapes differ, or there are no elements.
template <typename Measure>
std::optional<double> MeanOfErrors(const Tensor& prediction, const Tensor& target, Measure measure) {
  const absl::StatusOr<std::vector<double>> found = ReadDoubles(prediction), wanted = ReadDoubles(target);
  if (prediction.dims() != target.dims() || !found.ok() || !wanted.ok() || found->empty()) return std::nullopt;
  double total = 0;
  for (size_t i = 0; i < found->size(); ++i) total += measure((*found)[i] - (*wanted)[i]);
  return total / static_cast<double>(found->size());
}

}  // namespace

std::optional<int64_t> CountRight(const Tensor& scores, const Tensor& labels) {
  const std::optional<Judged> judged = Pair(scores, labels);
  if (!judged.has_value()) return std::nullopt;
  int64_t right = 0;
  for (size_t i = 0; i < judged->classes.size(); ++i) {
    const Row row = judged->row(i);
    const bool has_nan = std::any_of(row.begin(), row.end(), [](double score) { return std::isnan(score); });
    right += !has_nan && static_cast<size_t>(Largest(row)) == judged->classes[i] ? 1 : 0;
  }
  return right;
}

std::optional<double> SoftmaxCrossEntropy(const Tensor& logits, const Tensor& labels) {
  const std::optional<Judged> judged = Pair(logits, labels);
  if (!judged.has_value() || judged->classes.empty()) return std::nullopt;
  double total = 0;
  for (size_t i = 0; i < judged->classes.size(); ++i) {
    const Row row = judged->row(i);
    const double largest = row[static_cast<size_t>(Largest(row))];
    double sum = 0;
    for (const double x : row) sum += std::exp(x - largest);
    total += largest + std::log(sum) - row[judged->classes[i]];
  }
  return total / static_cast<double>(judged->classes.size());
}

std::optional<int64_t> CountRightOfTwo(const Tensor& probabilities, const Tensor& labels) {
  const absl::StatusOr<std::vector<double>> found = ReadDoubles(probabilities), wanted = ReadDoubles(labels);
  if (probabilities.dims() != labels.dims() || !found.ok() || !wanted.ok()) return std::nullopt;
  constexpr double kHalf = 0.5;
  int64_t right = 0;
  for (size_t i = 0; i < found->size(); ++i) {
    right += (*wanted)[i] == 1 ? (*found)[i] >= kHalf : (*found)[i] < kHalf;
  }
  return right;
}

std::optional<double> BinaryCrossEntropy(const Tensor& probabilities, const Tensor& labels) {
  constexpr double kLeast = 1e-7;
  // The distance between probability and label is the probability of the other class.
  return MeanOfErrors(probabilities, labels,
                      [=](double error) { return -std::log(std::max(1 - std::fabs(error), kLeast)); });
}

bool AreOfTwoClasses(const Tensor& labels) {
  const absl::StatusOr<std::vector<double>> elements = ReadDoubles(labels);
  return elements.ok() &&
         std::all_of(elements->begin(), elements->end(), [](double label) { return label == 0 || label == 1; });
}

std::optional<double> MeanSquaredError(const Tensor& prediction, const Tensor& target) {
  return MeanOfErrors(prediction, target, [](double error) { return error * error; });
}

std::optional<double> MeanAbsoluteError(const Tensor& prediction, const Tensor& target) {
  return MeanOfErrors(prediction, target, [](double error) { return std::fabs(error); });
}

bool AreOneHot(const Tensor& labels) {
  const absl::StatusOr<std::vector<double>> elements = ReadDoubles(labels);
  if (labels.rank() != 2 || labels.dim(1) < 2 || !elements.ok()) return false;
  const auto width = static_cast<size_t>(labels.dim(1));
  for (size_t first = 0; first < elements->size(); first += width) {
    const Row row = Row(*elements).subspan(first, width);
    const auto ones = std::count(row.begin(), row.end(), 1.0), zeros = std::count(row.begin(), row.end(), 0.0);
    if (ones != 1 || zeros + 1 != labels.dim(1)) return false;
  }
  return true;
}

}  // namespace amp
