// SVMRegressor: a sum over support vectors, or a linear model if there are none. SVMClassifier: such a sum for every
// pair of classes, of which each votes for one; probabilities are those that agree best with the pairs' votes (T.-F.
// Wu, C.-J. Lin, R. C. Weng: Probability Estimates for Multi-class Classification by Pairwise Coupling, 2004, algorithm
// 2).
//
// ONNX's words leave open how scores become two and labels follow from them: this follows ONNX Runtime, but for
// two classes behind PROBIT and for features that are NaN.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "runtime/kernel/parallel_for.h"
#include "runtime/reference/families.h"
#include "runtime/reference/float_cells.h"
#include "runtime/reference/post_transform.h"
#include "runtime/reference/read_once.h"

namespace amp {
namespace {

std::vector<double> Floats(const KernelContext& context, absl::string_view name) {
  const std::vector<float> floats = GetFloats(context.node(), name).value_or(std::vector<float>());
  return {floats.begin(), floats.end()};
}

enum class KernelType { kLinear, kPoly, kRbf, kSigmoid };

// How alike two vectors are.
struct Similarity {
  KernelType type = KernelType::kLinear;
  double gamma = 0, coef0 = 0, degree = 0;

  // `sum`: of the squares of differences for kRbf, of products for others.
  double Of(double sum) const {
    switch (type) {
      case KernelType::kLinear:
        return sum;
      case KernelType::kPoly:
        return std::pow(gamma * sum + coef0, degree);
      case KernelType::kRbf:
        return std::exp(-gamma * sum);
      case KernelType::kSigmoid:
        return std::tanh(gamma * sum + coef0);
    }
    return sum;
  }
};

// Vectors side by side, so that sums over features, each in their order, go on for several at once.
class VectorBlocks {
 public:
  VectorBlocks() = default;
  // `vectors`: [count, features]
  VectorBlocks(absl::Span<const double> vectors, size_t count, size_t features) : count_(count), features_(features) {
    elements_.resize((count + kLanes - 1) / kLanes * features * kLanes);
    for (size_t i = 0; i < count; ++i) {
      double* const lane = elements_.data() + i / kLanes * features * kLanes + i % kLanes;
      for (size_t f = 0; f < features; ++f) lane[f * kLanes] = vectors[i * features + f];
    }
  }

  // To each of the vectors.
  std::vector<double> Similarities(const Similarity& similarity, absl::Span<const double> sample) const {
    std::vector<double> all;
    all.reserve(count_);
    const bool is_rbf = similarity.type == KernelType::kRbf;
    for (size_t block_size = features_ * kLanes, at = 0; all.size() < count_; at += block_size) {
      const auto block = absl::MakeConstSpan(elements_).subspan(at, block_size);
      const Sums sums = is_rbf ? SquaresOfDifferences(sample, block) : Products(sample, block);
      for (size_t i = 0; i < kLanes && all.size() < count_; ++i) all.push_back(similarity.Of(sums[i]));
    }
    return all;
  }

 private:
  static constexpr size_t kLanes = 8;
  using Sums = std::array<double, kLanes>;

  static Sums SquaresOfDifferences(absl::Span<const double> sample, absl::Span<const double> block) {
    Sums sums = {};
    const double* row = block.data();
    for (const double x : sample) {
      for (size_t i = 0; i < kLanes; ++i) sums[i] += (x - row[i]) * (x - row[i]);
      row += kLanes;
    }
    return sums;
  }

  static Sums Products(absl::Span<const double> sample, absl::Span<const double> block) {
    Sums sums = {};
    const double* row = block.data();
    for (const double x : sample) {
      for (size_t i = 0; i < kLanes; ++i) sums[i] += x * row[i];
      row += kLanes;
    }
    return sums;
  }

  size_t count_ = 0, features_ = 0;
  std::vector<double> elements_;  // [blocks, features, kLanes], zeros behind the last vector
};

absl::StatusOr<Similarity> ReadSimilarity(const KernelContext& context) {
  static constexpr absl::string_view kNames[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
  const std::string name = GetString(context.node(), "kernel_type", "LINEAR");
  const auto* const it = std::find(std::begin(kNames), std::end(kNames), name);
  if (it == std::end(kNames)) {
    return ModelError("kernel_type: expected LINEAR, POLY, RBF or SIGMOID, found ", Escaped(name));
  }
  Similarity similarity{.type = static_cast<KernelType>(it - std::begin(kNames))};
  const std::vector<double> parameters = Floats(context, "kernel_params");
  if (parameters.size() == 3) {
    similarity.gamma = parameters[0];
    similarity.coef0 = parameters[1];
    similarity.degree = parameters[2];
  } else if (!parameters.empty() || similarity.type != KernelType::kLinear) {
    return ModelError("kernel_params: expected gamma, coef0 and degree, found ", parameters.size(), " numbers");
  }
  return similarity;
}

struct SupportVectors {
  Similarity similarity;
  VectorBlocks vectors;
  std::vector<double> coefficients;  // [count]
  double rho = 0;
  PostTransform transform = PostTransform::kNone;

  double Score(absl::Span<const double> sample) const {
    const std::vector<double> similarities = vectors.Similarities(similarity, sample);
    return std::inner_product(coefficients.begin(), coefficients.end(), similarities.begin(), rho);
  }
};

// A linear model is one support vector, its coefficients, that counts once.
absl::StatusOr<SupportVectors> ReadSupportVectors(const KernelContext& context, size_t features) {
  const int64_t supports = GetInt(context.node(), "n_supports", 0);
  SupportVectors model;
  std::vector<double> vectors;
  model.coefficients = Floats(context, "coefficients");
  if (supports > 0) {
    AMP_ASSIGN_OR_RETURN(model.similarity, ReadSimilarity(context));
    vectors = Floats(context, "support_vectors");
  } else {
    vectors = std::move(model.coefficients);
    model.coefficients = {1.0};
  }
  const size_t count = supports > 0 ? static_cast<size_t>(supports) : 1;
  const std::vector<double> rho = Floats(context, "rho");
  const bool fits = model.coefficients.size() == count && vectors.size() / count == features &&
                    vectors.size() % count == 0 && rho.size() == 1;
  if (fits) {
    model.vectors = VectorBlocks(vectors, count, features);
    model.rho = rho[0];
    AMP_ASSIGN_OR_RETURN(model.transform, ReadPostTransform(context));
    return model;
  }
  return ModelError("expected ", count, " coefficients, as many vectors of ", features,
                    " features, and one rho, found ", model.coefficients.size(), ", ", vectors.size(), " numbers and ",
                    rho.size());
}

// Gives `visit` the index of each sample, by the threads of the run. REQUIRES: the visits are independent.
void ForEachSample(const Samples& samples, size_t vectors, absl::FunctionRef<void(size_t)> visit) {
  ParallelFor(samples.count, vectors * samples.features, [&](const Share& share) {
    for (size_t i = share.first; i < share.end; ++i) visit(i);
  });
}

absl::Status SvmRegressor(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Samples samples, ReadSamples(context));
  const auto read = [&] { return ReadSupportVectors(context, samples.features); };
  AMP_ASSIGN_OR_RETURN(const auto model, ReadOnce<SupportVectors>(context, read, samples.features));
  const bool is_one_class = GetInt(context.node(), "one_class", 0) != 0;
  std::vector<double> all(samples.count);
  ForEachSample(samples, model->coefficients.size(), [&](size_t i) {
    all[i] = model->Score(samples.row(i));
    if (is_one_class) {
      all[i] = all[i] > 0 ? 1 : -1;
    } else {
      ApplyPostTransform(model->transform, absl::MakeSpan(&all[i], 1));
    }
  });
  return WriteOutput(context, 0, DType::kFloat32, {static_cast<int64_t>(samples.count), 1}, all);
}

// Every two classes have a score, positive for the first one: (0, 1), (0, 2), ..., (1, 2), ...
struct PairedClasses {
  size_t classes = 0;
  std::vector<size_t> ends;  // of each class's vectors among all
  Similarity similarity;
  VectorBlocks vectors;
  std::vector<double> coefficients;         // [classes - 1, vectors]
  std::vector<double> rho, prob_a, prob_b;  // [pairs], the last two also empty
  ClassLabels labels;
  PostTransform transform = PostTransform::kNone;

  // Without probabilities, one score of two classes becomes two, and more classes have one for each pair.
  size_t num_outputs() const { return prob_a.empty() && classes > 2 ? rho.size() : classes; }

  // Returns the part of the score by the vectors of `of`, in the pair with `against`, whose row comes one earlier if it
  // is the later class.
  double PartOfScore(absl::Span<const double> similarities, size_t of, size_t against) const {
    const double* row = coefficients.data() + (against < of ? against : against - 1) * similarities.size();
    double sum = 0;
    for (size_t i = of == 0 ? 0 : ends[of - 1]; i < ends[of]; ++i) sum += row[i] * similarities[i];
    return sum;
  }

  std::vector<double> Scores(absl::Span<const double> sample) const {
    const std::vector<double> similarities = vectors.Similarities(similarity, sample);
    std::vector<double> scores;
    for (size_t i = 0; i < classes; ++i) {
      for (size_t j = i + 1; j < classes; ++j) {
        scores.push_back(PartOfScore(similarities, i, j) + PartOfScore(similarities, j, i) + rho[scores.size()]);
      }
    }
    return scores;
  }

  size_t ClassOfMostVotes(absl::Span<const double> scores) const {
    std::vector<double> votes(classes);
    size_t pair = 0;
    for (size_t i = 0; i < classes; ++i) {
      for (size_t j = i + 1; j < classes; ++j) votes[scores[pair++] > 0 ? i : j] += 1;
    }
    return IndexOfLargest(votes);
  }
};

absl::StatusOr<PairedClasses> ReadPairedClasses(const KernelContext& context, size_t features) {
  PairedClasses model;
  AMP_ASSIGN_OR_RETURN(model.labels, ReadClassLabels(context, "classlabels_ints"));
  AMP_ASSIGN_OR_RETURN(model.transform, ReadPostTransform(context));
  const size_t classes = model.classes = model.labels.size();
  const std::vector<double> vectors = Floats(context, "support_vectors");
  model.coefficients = Floats(context, "coefficients");
  model.rho = Floats(context, "rho");
  model.prob_a = Floats(context, "prob_a");
  model.prob_b = Floats(context, "prob_b");
  AMP_ASSIGN_OR_RETURN(model.similarity, ReadSimilarity(context));
  size_t count = 0;
  for (const int64_t own : GetInts(context.node(), "vectors_per_class").value_or(std::vector<int64_t>())) {
    if (own < 0 || own > kMaxElements) return ModelError("vectors_per_class: found ", own);
    model.ends.push_back(count += static_cast<size_t>(own));
  }
  if (model.ends.size() != classes || classes < 2) {
    return ModelError("vectors_per_class: expected a number for each of two or more classes, found ", model.ends.size(),
                      " for ", classes);
  }
  const size_t pairs = classes * (classes - 1) / 2;
  const auto fits = [&](const std::vector<double>& list) { return list.empty() || list.size() == pairs; };
  const bool has_vectors = count > 0 && features > 0 && vectors.size() / count == features &&
                           vectors.size() % count == 0 && model.coefficients.size() / count == classes - 1 &&
                           model.coefficients.size() % count == 0;
  if (has_vectors && model.rho.size() == pairs && fits(model.prob_a) && model.prob_b.size() == model.prob_a.size()) {
    model.vectors = VectorBlocks(vectors, count, features);
    return model;
  }
  return ModelError("expected ", count, " vectors of ", features, " features, as many coefficients for each of ",
                    classes, " classes but one, and a number in rho, prob_a and prob_b for each of ", pairs,
                    " pairs, found ", vectors.size(), " and ", model.coefficients.size(), " numbers, ",
                    model.rho.size(), ", ", model.prob_a.size(), " and ", model.prob_b.size());
}

// The matrix that is to be least for the probabilities p: sum over pairs of (says[j][i] p[i] - says[i][j] p[j])^2.
std::vector<double> CouplingMatrix(absl::Span<const double> says, size_t classes) {
  std::vector<double> q(classes * classes);
  for (size_t i = 0; i < classes; ++i) {
    for (size_t j = 0; j < classes; ++j) {
      if (i == j) continue;
      q[i * classes + i] += says[j * classes + i] * says[j * classes + i];
      q[i * classes + j] = -says[j * classes + i] * says[i * classes + j];
    }
  }
  return q;
}

// `says`: [classes, classes], of each pair how likely it is the class of the row. Stops where all is as near as libsvm
// takes for enough.
std::vector<double> CouplePairs(absl::Span<const double> says, size_t classes) {
  constexpr int kRounds = 100;
  const double enough = 0.005 / static_cast<double>(classes);
  const std::vector<double> q = CouplingMatrix(says, classes);
  std::vector<double> p(classes, 1 / static_cast<double>(classes)), qp(classes);
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < classes; ++i) {
      qp[i] = std::inner_product(p.begin(), p.end(), q.begin() + static_cast<std::ptrdiff_t>(i * classes), 0.0);
    }
    double pqp = std::inner_product(p.begin(), p.end(), qp.begin(), 0.0);
    if (std::all_of(qp.begin(), qp.end(), [&](double x) { return std::fabs(x - pqp) < enough; })) break;
    for (size_t i = 0; i < classes; ++i) {
      const double own = q[i * classes + i], change = (pqp - qp[i]) / own, whole = 1 + change;
      p[i] += change;
      pqp = (pqp + change * (change * own + 2 * qp[i])) / (whole * whole);
      for (size_t j = 0; j < classes; ++j) {
        qp[j] = (qp[j] + change * q[i * classes + j]) / whole;
        p[j] /= whole;
      }
    }
  }
  return p;
}

std::vector<double> Probabilities(const PairedClasses& model, absl::Span<const double> scores) {
  constexpr double kLeast = 1e-7;
  std::vector<double> says(model.classes * model.classes);
  size_t pair = 0;
  for (size_t i = 0; i < model.classes; ++i) {
    for (size_t j = i + 1; j < model.classes; ++j, ++pair) {
      const double likely = 1 / (1 + std::exp(model.prob_a[pair] * scores[pair] + model.prob_b[pair]));
      says[i * model.classes + j] = std::clamp(likely, kLeast, 1 - kLeast);
      says[j * model.classes + i] = 1 - says[i * model.classes + j];
    }
  }
  return CouplePairs(says, model.classes);
}

// As many as num_outputs().
std::vector<double> OutputScores(const PairedClasses& model, std::vector<double> scores) {
  const PostTransform transform = model.transform;
  if (!model.prob_a.empty()) {
    scores = Probabilities(model, scores);
  } else if (model.classes == 2) {
    return ScoresOfTwo(scores[0], transform,
                       transform == PostTransform::kNone ? SecondClass::kOpposite : SecondClass::kComplement);
  }
  ApplyPostTransform(transform, absl::MakeSpan(scores));
  return scores;
}

absl::Status SvmClassifier(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Samples samples, ReadSamples(context));
  const auto read = [&] { return ReadPairedClasses(context, samples.features); };
  AMP_ASSIGN_OR_RETURN(const auto model, ReadOnce<PairedClasses>(context, read, samples.features));
  const size_t width = model->num_outputs();
  std::vector<double> all(samples.count * width);
  std::vector<size_t> classes(samples.count);
  ForEachSample(samples, model->ends.back(), [&](size_t i) {
    std::vector<double> scores = model->Scores(samples.row(i));
    classes[i] = model->ClassOfMostVotes(scores);
    std::ranges::copy(OutputScores(*model, std::move(scores)), &all[i * width]);
  });
  AMP_RETURN_IF_ERROR(WriteLabels(context, model->labels, classes));
  const Dims dims = {static_cast<int64_t>(samples.count), static_cast<int64_t>(width)};
  return WriteOutput(context, 1, DType::kFloat32, dims, all);
}

constexpr KernelRow kRows[] = {
    {"SVMRegressor", SvmRegressor, "ai.onnx.ml"},
    {"SVMClassifier", SvmClassifier, "ai.onnx.ml"},
};

}  // namespace

absl::Span<const KernelRow> SvmKernels() { return kRows; }

}  // namespace amp
