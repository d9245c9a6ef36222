// Layer normalization and its kin: by the statistics of all axes from one on, then scaled element by element. ONNX
// Runtime's variants add a second input first, or leave the mean where it is.
//
// ONNX rounds what it normalized to the input's type before it is scaled; here all is float64, rounded once at the end.
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "runtime/forms/norm.h"
#include "runtime/kernel/cells.h"
#include "runtime/kernel/doubles.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/families.h"
#include "runtime/reference/float_cells.h"

namespace amp {
namespace {

enum class Centre { kMean, kZero };

struct Layers {
  Dims dims;  // of the statistics: 1 where they are taken along
  std::vector<double> mean, inverse_deviation;
};

struct Rule {
  Centre centre;
  double epsilon;
};

absl::StatusOr<Layers> NormalizeLayers(const Dims& dims, int64_t from_axis, Rule rule, absl::Span<double> values) {
  AMP_ASSIGN_OR_RETURN(const size_t axis, NormalizeAxis(from_axis, dims.size()));
  Layers layers{.dims = dims, .mean = {}, .inverse_deviation = {}};
  for (size_t i = axis; i < dims.size(); ++i) layers.dims[i] = 1;
  // Where a dimension of 0 became 1 there are more statistics than elements, perhaps too many.
  AMP_ASSIGN_OR_RETURN(const Tensor checked, Tensor::Create(DType::kUint8, layers.dims));
  layers.mean.assign(static_cast<size_t>(checked.num_elements()), NAN);
  layers.inverse_deviation = layers.mean;
  TransformCells(dims, AxesBetween(axis, dims.size()), values, [&](size_t cell, absl::Span<double> elements) {
    Moments moments = MomentsOf(elements);
    if (rule.centre == Centre::kZero) moments = {0, moments.variance + moments.mean * moments.mean};
    layers.mean[cell] = moments.mean;
    layers.inverse_deviation[cell] = 1 / std::sqrt(moments.variance + rule.epsilon);
    for (double& x : elements) x = (x - moments.mean) * layers.inverse_deviation[cell];
  });
  return layers;
}

// values = of(values, input `port`), where the input is repeated to `dims`; nothing is done where it is absent.
template <typename Function>
absl::Status Combine(const KernelContext& context, size_t port, const Dims& dims, absl::Span<double> values,
                     Function of) {
  if (!context.HasInput(port)) return absl::OkStatus();
  const Dims& others = context.Input(port).dims();
  AMP_ASSIGN_OR_RETURN(const Dims both, BroadcastDims(dims, others));
  if (both != dims) {
    return ModelError("input ", port, ": expected a shape that broadcasts to ", DimsText(dims), ", found ",
                      DimsText(others));
  }
  AMP_ASSIGN_OR_RETURN(const std::vector<double> operand, ReadFloats(context, port));
  if (values.empty()) return absl::OkStatus();
  size_t i = 0;
  for (StridedWalk walk(dims, {BroadcastStrides(others, dims)}); !walk.AtEnd(); walk.Next(), ++i) {
    values[i] = of(values[i], operand[walk[0]]);
  }
  return absl::OkStatus();
}

// Around zero: RMSNormalization, and ONNX Runtime's older name for it, which has a second output.
template <Centre centre>
absl::Status Normalization(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const LayerNormForm form, ReadLayerNorm(context));
  AMP_ASSIGN_OR_RETURN(std::vector<double> values, ReadFloats(context, 0));
  const Rule rule{centre, form.epsilon};
  AMP_ASSIGN_OR_RETURN(const Layers layers,
                       NormalizeLayers(x.dims(), static_cast<int64_t>(form.axis), rule, absl::MakeSpan(values)));
  AMP_RETURN_IF_ERROR(Combine(context, 1, x.dims(), absl::MakeSpan(values), std::multiplies<>()));
  if (centre == Centre::kMean) {
    AMP_RETURN_IF_ERROR(Combine(context, 2, x.dims(), absl::MakeSpan(values), std::plus<>()));
    AMP_RETURN_IF_ERROR(WriteOutput(context, 1, form.stash_type, layers.dims, layers.mean));
  }
  AMP_RETURN_IF_ERROR(
      WriteOutput(context, centre == Centre::kMean ? 2 : 1, form.stash_type, layers.dims, layers.inverse_deviation));
  const DType dtype = centre == Centre::kMean ? x.dtype() : context.Input(1).dtype();
  return WriteOutput(context, 0, dtype, x.dims(), values);
}

// Inputs: input, skip, gamma, then beta where there is a mean, then bias. Outputs: normalized, mean, inverse deviation,
// the sum that was normalized.
template <Centre centre>
absl::Status SkipNormalization(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(std::vector<double> values, ReadFloats(context, 0));
  AMP_RETURN_IF_ERROR(Combine(context, 1, x.dims(), absl::MakeSpan(values), std::plus<>()));
  AMP_RETURN_IF_ERROR(
      Combine(context, centre == Centre::kMean ? 4 : 3, x.dims(), absl::MakeSpan(values), std::plus<>()));
  AMP_RETURN_IF_ERROR(WriteOutput(context, 3, x.dtype(), x.dims(), values));
  const Rule rule{centre, GetFloat(context.node(), "epsilon", 1e-12f)};
  AMP_ASSIGN_OR_RETURN(const Layers layers, NormalizeLayers(x.dims(), -1, rule, absl::MakeSpan(values)));
  AMP_RETURN_IF_ERROR(Combine(context, 2, x.dims(), absl::MakeSpan(values), std::multiplies<>()));
  if (centre == Centre::kMean) {
    AMP_RETURN_IF_ERROR(Combine(context, 3, x.dims(), absl::MakeSpan(values), std::plus<>()));
  }
  AMP_RETURN_IF_ERROR(WriteOutput(context, 1, DType::kFloat32, layers.dims, layers.mean));
  AMP_RETURN_IF_ERROR(WriteOutput(context, 2, DType::kFloat32, layers.dims, layers.inverse_deviation));
  return WriteOutput(context, 0, x.dtype(), x.dims(), values);
}

// Row rows[i] of the table at `port` is added to the i-th part of `sums`.
absl::Status AddTableRows(const KernelContext& context, size_t port, absl::Span<const double> rows, size_t width,
                          absl::Span<double> sums) {
  const Tensor& table = context.Input(port);
  AMP_ASSIGN_OR_RETURN(const std::vector<double> entries, ReadFloats(context, port));
  if (table.rank() != 2 || static_cast<size_t>(table.dim(1)) != width) {
    return ModelError("input ", port, ": expected [rows,", width, "], found ", table.TypeText());
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!(rows[i] >= 0 && rows[i] < static_cast<double>(table.dim(0)))) {
      return ModelError("input ", port, ": expected a row below ", table.dim(0), ", found ", rows[i]);
    }
    const double* const row = entries.data() + static_cast<size_t>(rows[i]) * width;
    for (size_t k = 0; k < width; ++k) sums[i * width + k] += row[k];
  }
  return absl::OkStatus();
}

absl::Status CheckLikeIds(const Tensor& ids, const Tensor& others) {
  if (others.dims() == ids.dims()) return absl::OkStatus();
  return ModelError("expected the shape of ids ", ids.TypeText(), ", found ", others.TypeText());
}

// Returns the position of each token [B, S]: its place in S, unless input `port` states others, for all batches or
// each.
absl::StatusOr<std::vector<double>> PositionsOf(const KernelContext& context, size_t port, const Tensor& ids) {
  std::vector<double> stated;
  if (context.HasInput(port)) {
    const Tensor& positions = context.Input(port);
    if (positions.rank() != 2 || positions.dim(1) != ids.dim(1) ||
        (positions.dim(0) != 1 && positions.dim(0) != ids.dim(0))) {
      return ModelError("input ", port, ": expected positions as ids ", ids.TypeText(), ", found ",
                        positions.TypeText());
    }
    AMP_ASSIGN_OR_RETURN(stated, ReadDoubles(positions));
  }
  std::vector<double> all(static_cast<size_t>(ids.num_elements()));
  for (size_t i = 0; i < all.size(); ++i) {
    all[i] = stated.empty() ? static_cast<double>(i % static_cast<size_t>(ids.dim(1))) : stated[i % stated.size()];
  }
  return all;
}

// How many of each row of the mask at `port` are 1; 0 without a mask.
absl::Status WriteMaskIndex(KernelContext& context, size_t port, const Tensor& ids) {
  AMP_ASSIGN_OR_RETURN(Tensor * counts, context.MakeOutput(1, DType::kInt32, {ids.dim(0)}));
  const auto out = counts->mutable_elements<int32_t>();
  std::fill(out.begin(), out.end(), 0);
  if (!context.HasInput(port)) return absl::OkStatus();
  AMP_RETURN_IF_ERROR(CheckLikeIds(ids, context.Input(port)));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> mask, ReadDoubles(context.Input(port)));
  for (size_t i = 0; i < mask.size(); ++i) out[i / static_cast<size_t>(ids.dim(1))] += mask[i] == 1 ? 1 : 0;
  return absl::OkStatus();
}

// Inputs: ids [B, S] of words and of segments, tables of words, positions and segments, gamma, beta, mask, positions.
absl::Status EmbedLayerNormalization(KernelContext& context) {
  constexpr size_t kSegments = 1, kWords = 2, kMask = 7, kPositions = 8;
  const Tensor& ids = context.Input(0);
  const Tensor& words = context.Input(kWords);
  if (ids.rank() != 2 || words.rank() != 2) {
    return ModelError("expected ids [B, S] and words [rows, H], found ", ids.TypeText(), " and ", words.TypeText());
  }
  const Dims dims = {ids.dim(0), ids.dim(1), words.dim(1)};
  const auto width = static_cast<size_t>(words.dim(1));
  AMP_ASSIGN_OR_RETURN(const Tensor checked, Tensor::Create(DType::kFloat64, dims));
  std::vector<double> values(static_cast<size_t>(checked.num_elements()));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> rows, ReadDoubles(ids));
  AMP_RETURN_IF_ERROR(AddTableRows(context, kWords, rows, width, absl::MakeSpan(values)));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> positions, PositionsOf(context, kPositions, ids));
  AMP_RETURN_IF_ERROR(AddTableRows(context, kWords + 1, positions, width, absl::MakeSpan(values)));
  if (context.HasInput(kSegments)) {
    AMP_RETURN_IF_ERROR(CheckLikeIds(ids, context.Input(kSegments)));
    AMP_ASSIGN_OR_RETURN(const std::vector<double> segments, ReadDoubles(context.Input(kSegments)));
    AMP_RETURN_IF_ERROR(AddTableRows(context, kWords + 2, segments, width, absl::MakeSpan(values)));
  }
  AMP_RETURN_IF_ERROR(WriteOutput(context, 2, words.dtype(), dims, values));
  const Rule rule{Centre::kMean, GetFloat(context.node(), "epsilon", 1e-12f)};
  AMP_ASSIGN_OR_RETURN(const Layers layers, NormalizeLayers(dims, -1, rule, absl::MakeSpan(values)));
  AMP_RETURN_IF_ERROR(Combine(context, 5, dims, absl::MakeSpan(values), std::multiplies<>()));
  AMP_RETURN_IF_ERROR(Combine(context, 6, dims, absl::MakeSpan(values), std::plus<>()));
  AMP_RETURN_IF_ERROR(WriteMaskIndex(context, kMask, ids));
  return WriteOutput(context, 0, words.dtype(), dims, values);
}

constexpr KernelRow kRows[] = {
    {"EmbedLayerNormalization", EmbedLayerNormalization, "com.microsoft"},
    {"LayerNormalization", Normalization<Centre::kMean>},
    {"RMSNormalization", Normalization<Centre::kZero>},
    {"SimplifiedLayerNormalization", Normalization<Centre::kZero>},
    {"SkipLayerNormalization", SkipNormalization<Centre::kMean>, "com.microsoft"},
    {"SkipSimplifiedLayerNormalization", SkipNormalization<Centre::kZero>, "com.microsoft"},
};

}  // namespace

absl::Span<const KernelRow> LayerNormKernels() { return kRows; }

}  // namespace amp
