// ai.onnx.ml's scaling, linear models and the like: numbers of any type in, mostly float32 out.
//
// Where ONNX's words and ONNX Runtime differ or the words say nothing, this follows ONNX Runtime: a linear classifier
// with one score for two classes gives the first one the complement, and L1 is a sum of magnitudes.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "runtime/kernel/doubles.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/families.h"
#include "runtime/reference/float_cells.h"
#include "runtime/reference/post_transform.h"

namespace amp {
namespace {

std::vector<double> Floats(const KernelContext& context, absl::string_view name) {
  const std::vector<float> floats = GetFloats(context.node(), name).value_or(std::vector<float>());
  return {floats.begin(), floats.end()};
}

// The size of the last axis, which features lie along. Errors: a scalar.
absl::StatusOr<size_t> FeaturesOf(const Tensor& x) {
  if (x.rank() == 0) return ModelError("expected shape [..., F], found ", x.TypeText());
  return static_cast<size_t>(x.dims().back());
}

// A list that has an entry for each feature, or one for all.
absl::Status CheckPerFeature(absl::string_view name, size_t found, size_t features) {
  if (found == 1 || found == features) return absl::OkStatus();
  return ModelError(name, ": expected 1 or ", features, " entries, found ", found);
}

absl::Status Scaler(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const size_t features, FeaturesOf(x));
  AMP_ASSIGN_OR_RETURN(std::vector<double> values, ReadDoubles(x));
  const std::vector<double> scale = Floats(context, "scale"), offset = Floats(context, "offset");
  AMP_RETURN_IF_ERROR(CheckPerFeature("scale", scale.size(), features));
  AMP_RETURN_IF_ERROR(CheckPerFeature("offset", offset.size(), features));
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t feature = i % features;
    values[i] = (values[i] - offset[offset.size() == 1 ? 0 : feature]) * scale[scale.size() == 1 ? 0 : feature];
  }
  return WriteOutput(context, 0, DType::kFloat32, x.dims(), values);
}

// Returns the divisor of a row.
double Divisor(absl::string_view norm, absl::Span<const double> row) {
  double divisor = norm == "MAX" ? row[0] : 0;
  for (const double x : row) {
    divisor = norm == "MAX" ? std::max(divisor, x) : divisor + (norm == "L1" ? std::fabs(x) : x * x);
  }
  return norm == "L2" ? std::sqrt(divisor) : divisor;
}

absl::Status Normalizer(KernelContext& context) {
  const Tensor& x = context.Input(0);
  const std::string norm = GetString(context.node(), "norm", "MAX");
  if (norm != "MAX" && norm != "L1" && norm != "L2") {
    return ModelError("norm: expected MAX, L1 or L2, found ", Escaped(norm));
  }
  if (x.rank() != 1 && x.rank() != 2) return ModelError("expected shape [N,C] or [C], found ", x.TypeText());
  AMP_ASSIGN_OR_RETURN(std::vector<double> values, ReadDoubles(x));
  TransformCells(x.dims(), {x.rank() - 1}, absl::MakeSpan(values), [&](size_t, absl::Span<double> row) {
    const double divisor = Divisor(norm, row);
    if (divisor == 0) return;
    for (double& element : row) element /= divisor;
  });
  return WriteOutput(context, 0, DType::kFloat32, x.dims(), values);
}

absl::Status Binarizer(KernelContext& context) {
  const Tensor& x = context.Input(0);
  const double threshold = GetFloat(context.node(), "threshold", 0);
  AMP_ASSIGN_OR_RETURN(std::vector<double> values, ReadDoubles(x));
  for (double& value : values) value = value > threshold ? 1 : 0;
  return WriteOutput(context, 0, x.dtype(), x.dims(), values);
}

// y = x, but an entry of `imputed` where x is `replaced`, or where both are NaN. `Number`: what attributes hold.
template <typename T, typename Number>
absl::Status Impute(KernelContext& context, Number replaced, absl::Span<const Number> imputed) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const size_t features, FeaturesOf(x));
  AMP_RETURN_IF_ERROR(CheckPerFeature("imputed values", imputed.size(), features));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), x.dims()));
  const auto in = x.elements<T>();
  const auto out = y->mutable_elements<T>();
  for (size_t i = 0; i < in.size(); ++i) {
    const auto element = static_cast<Number>(Load(in[i]));
    const bool is_replaced = element == replaced || (element != element && replaced != replaced);
    const Number value = imputed[imputed.size() == 1 ? 0 : i % features];
    out[i] = is_replaced ? static_cast<T>(value) : in[i];
  }
  return absl::OkStatus();
}

absl::Status Imputer(KernelContext& context) {
  const Node& node = context.node();
  const std::vector<double> floats = Floats(context, "imputed_value_floats");
  const std::vector<int64_t> ints = GetInts(node, "imputed_value_int64s").value_or(std::vector<int64_t>());
  const double replaced_float = GetFloat(node, "replaced_value_float", 0);
  const int64_t replaced_int = GetInt(node, "replaced_value_int64", 0);
  switch (const DType dtype = context.Input(0).dtype()) {
    case DType::kFloat32:
      return Impute<float, double>(context, replaced_float, floats);
    case DType::kFloat64:
      return Impute<double, double>(context, replaced_float, floats);
    case DType::kInt32:
      return Impute<int32_t, int64_t>(context, replaced_int, ints);
    case DType::kInt64:
      return Impute<int64_t, int64_t>(context, replaced_int, ints);
    default:
      return context.TypeError(dtype);
  }
}

// Rows of all inputs side by side; [C] is [1,C].
absl::Status FeatureVectorizer(KernelContext& context) {
  const auto stated = GetInts(context.node(), "inputdimensions");
  const auto rows_of = [](const Tensor& x) { return x.rank() == 2 ? x.dim(0) : 1; };
  const int64_t rows = rows_of(context.Input(0));
  int64_t width = 0;
  for (size_t port = 0; port < context.num_inputs(); ++port) {
    const Tensor& x = context.Input(port);
    const bool fits = (x.rank() == 1 || x.rank() == 2) && rows_of(x) == rows;
    if (!fits) return ModelError("input ", port, ": expected [", rows, ",C], found ", x.TypeText());
    if (stated.has_value() && (port >= stated->size() || (*stated)[port] != x.dims().back())) {
      return ModelError("inputdimensions: expected the inputs' sizes, found ", DimsText(*stated));
    }
    if (__builtin_add_overflow(width, x.dims().back(), &width)) return LimitError("expected fewer features");
  }
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, DType::kFloat32, {rows, width}));
  std::vector<double> values(static_cast<size_t>(y->num_elements()));
  size_t first = 0;
  for (size_t port = 0; port < context.num_inputs(); ++port) {
    AMP_ASSIGN_OR_RETURN(const std::vector<double> part, ReadDoubles(context.Input(port)));
    const auto columns = static_cast<size_t>(context.Input(port).dims().back());
    for (size_t i = 0; i < part.size(); ++i) {
      values[i / columns * static_cast<size_t>(width) + first + i % columns] = part[i];
    }
    first += columns;
  }
  return WriteDoubles(values, *y);
}

struct LinearModel {
  size_t targets = 0;
  std::vector<double> coefficients, intercepts;  // [targets, features]; [targets]

  std::vector<double> Scores(absl::Span<const double> sample) const {
    std::vector<double> scores(intercepts);
    for (size_t target = 0; target < targets; ++target) {
      const double* const row = coefficients.data() + target * sample.size();
      scores[target] = std::inner_product(sample.begin(), sample.end(), row, scores[target]);
    }
    return scores;
  }
};

absl::StatusOr<LinearModel> ReadLinearModel(const KernelContext& context, size_t targets, size_t features) {
  LinearModel model{targets, Floats(context, "coefficients"), Floats(context, "intercepts")};
  if (targets == 0 || model.coefficients.size() / targets != features || model.coefficients.size() % targets != 0) {
    return ModelError("coefficients: expected ", features, " for each of ", targets, " targets, found ",
                      model.coefficients.size(), " in all");
  }
  if (model.intercepts.empty()) model.intercepts.assign(targets, 0);
  if (model.intercepts.size() == targets) return model;
  return ModelError("intercepts: expected ", targets, ", found ", model.intercepts.size());
}

absl::Status LinearRegressor(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Samples samples, ReadSamples(context));
  const int64_t targets = GetInt(context.node(), "targets", 1);
  if (targets < 1) return ModelError("targets: expected at least 1, found ", targets);
  AMP_ASSIGN_OR_RETURN(const LinearModel model,
                       ReadLinearModel(context, static_cast<size_t>(targets), samples.features));
  AMP_ASSIGN_OR_RETURN(const PostTransform transform, ReadPostTransform(context));
  std::vector<double> all;
  for (size_t i = 0; i < samples.count; ++i) {
    std::vector<double> scores = model.Scores(samples.row(i));
    ApplyPostTransform(transform, absl::MakeSpan(scores));
    all.insert(all.end(), scores.begin(), scores.end());
  }
  return WriteOutput(context, 0, DType::kFloat32, {static_cast<int64_t>(samples.count), targets}, all);
}

absl::Status LinearClassifier(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Samples samples, ReadSamples(context));
  AMP_ASSIGN_OR_RETURN(const ClassLabels labels, ReadClassLabels(context, "classlabels_ints"));
  AMP_ASSIGN_OR_RETURN(const PostTransform transform, ReadPostTransform(context));
  const bool has_one_score =
      labels.size() == 2 && Floats(context, "coefficients").size() == samples.features;  // for the second class
  AMP_ASSIGN_OR_RETURN(const LinearModel model,
                       ReadLinearModel(context, has_one_score ? 1 : labels.size(), samples.features));
  std::vector<double> all;
  std::vector<size_t> classes;
  for (size_t i = 0; i < samples.count; ++i) {
    std::vector<double> scores = model.Scores(samples.row(i));
    classes.push_back(has_one_score ? (scores[0] > 0 ? 1 : 0) : IndexOfLargest(scores));
    if (has_one_score) {
      scores = ScoresOfTwo(scores[0], transform, SecondClass::kComplement);
    } else {
      ApplyPostTransform(transform, absl::MakeSpan(scores));
    }
    all.insert(all.end(), scores.begin(), scores.end());
  }
  AMP_RETURN_IF_ERROR(WriteLabels(context, labels, classes));
  const Dims dims = {static_cast<int64_t>(samples.count), static_cast<int64_t>(labels.size())};
  return WriteOutput(context, 1, DType::kFloat32, dims, all);
}

constexpr absl::string_view kDomain = "ai.onnx.ml";
constexpr KernelRow kRows[] = {
    {"Scaler", Scaler, kDomain},
    {"Normalizer", Normalizer, kDomain},
    {"Binarizer", Binarizer, kDomain},
    {"Imputer", Imputer, kDomain},
    {"FeatureVectorizer", FeatureVectorizer, kDomain},
    {"LinearRegressor", LinearRegressor, kDomain},
    {"LinearClassifier", LinearClassifier, kDomain},
};

}  // namespace

absl::Span<const KernelRow> ClassicalKernels() { return kRows; }

}  // namespace amp
