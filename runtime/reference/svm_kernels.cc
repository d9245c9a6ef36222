// SVMRegressor: a sum over support vectors, or, where there are none, a linear model.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "runtime/reference/families.h"
#include "runtime/reference/float_cells.h"
#include "runtime/reference/post_transform.h"

namespace amp {
namespace {

std::vector<double> Floats(const KernelContext& context, absl::string_view name) {
  const std::vector<float> floats = GetFloats(context.node(), name).value_or(std::vector<float>());
  return {floats.begin(), floats.end()};
}

// How alike two vectors are.
struct Similarity {
  std::string type;
  double gamma = 0, coef0 = 0, degree = 0;

  double Of(absl::Span<const double> a, absl::Span<const double> b) const {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += type == "RBF" ? (a[i] - b[i]) * (a[i] - b[i]) : a[i] * b[i];
    if (type == "LINEAR") return sum;
    if (type == "RBF") return std::exp(-gamma * sum);
    return type == "POLY" ? std::pow(gamma * sum + coef0, degree) : std::tanh(gamma * sum + coef0);
  }
};

absl::StatusOr<Similarity> ReadSimilarity(const KernelContext& context) {
  Similarity similarity{.type = GetString(context.node(), "kernel_type", "LINEAR")};
  const bool known = similarity.type == "LINEAR" || similarity.type == "POLY" || similarity.type == "RBF" ||
                     similarity.type == "SIGMOID";
  if (!known) {
    return ModelError("kernel_type: expected LINEAR, POLY, RBF or SIGMOID, found ", Escaped(similarity.type));
  }
  const std::vector<double> parameters = Floats(context, "kernel_params");
  if (parameters.size() == 3) {
    similarity.gamma = parameters[0];
    similarity.coef0 = parameters[1];
    similarity.degree = parameters[2];
  } else if (!parameters.empty() || similarity.type != "LINEAR") {
    return ModelError("kernel_params: expected gamma, coef0 and degree, found ", parameters.size(), " numbers");
  }
  return similarity;
}

struct SupportVectors {
  Similarity similarity;
  std::vector<double> vectors, coefficients;  // [count, features]; [count]
  double rho = 0;

  double Score(absl::Span<const double> sample) const {
    double sum = rho;
    for (size_t i = 0; i < coefficients.size(); ++i) {
      const absl::Span<const double> vector = absl::MakeConstSpan(vectors).subspan(i * sample.size(), sample.size());
      sum += coefficients[i] * similarity.Of(sample, vector);
    }
    return sum;
  }
};

// A linear model is one support vector, its coefficients, that counts once.
absl::StatusOr<SupportVectors> ReadSupportVectors(const KernelContext& context, size_t features) {
  const int64_t supports = GetInt(context.node(), "n_supports", 0);
  SupportVectors model;
  model.coefficients = Floats(context, "coefficients");
  if (supports > 0) {
    AMP_ASSIGN_OR_RETURN(model.similarity, ReadSimilarity(context));
    model.vectors = Floats(context, "support_vectors");
  } else {
    model.similarity.type = "LINEAR";
    model.vectors = std::move(model.coefficients);
    model.coefficients = {1.0};
  }
  const size_t count = supports > 0 ? static_cast<size_t>(supports) : 1;
  const std::vector<double> rho = Floats(context, "rho");
  const bool fits = model.coefficients.size() == count && model.vectors.size() / count == features &&
                    model.vectors.size() % count == 0 && rho.size() == 1;
  if (fits) {
    model.rho = rho[0];
    return model;
  }
  return ModelError("expected ", count, " coefficients, as many vectors of ", features,
                    " features, and one rho, found ", model.coefficients.size(), ", ", model.vectors.size(),
                    " numbers and ", rho.size());
}

absl::Status SvmRegressor(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Samples samples, ReadSamples(context));
  AMP_ASSIGN_OR_RETURN(const SupportVectors model, ReadSupportVectors(context, samples.features));
  AMP_ASSIGN_OR_RETURN(const PostTransform transform, ReadPostTransform(context));
  const bool is_one_class = GetInt(context.node(), "one_class", 0) != 0;
  std::vector<double> all;
  for (size_t i = 0; i < samples.count; ++i) {
    double score = model.Score(samples.row(i));
    if (is_one_class) {
      score = score > 0 ? 1 : -1;
    } else {
      ApplyPostTransform(transform, absl::MakeSpan(&score, 1));
    }
    all.push_back(score);
  }
  return WriteOutput(context, 0, DType::kFloat32, {static_cast<int64_t>(samples.count), 1}, all);
}

constexpr KernelRow kRows[] = {
    {"SVMRegressor", SvmRegressor, "ai.onnx.ml"},
};

}  // namespace

absl::Span<const KernelRow> SvmKernels() { return kRows; }

}  // namespace amp
