// Gradients that are functions of domain ai.amp, whose bodies in passes/train say what they mean. Attribute `to` is the
// type that they are computed in, and that of those of weights and norms.
//
//   dw = ai.amp.ConvWeightGradient (x, g)     dw = ai.amp.MatrixWeightGradient (a, b)
//   dx = ai.amp.MaxPoolGradient (x, g)
//   dx, dscale = ai.amp.LayerNormalizationGradient (x, scale, g)
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "runtime/forms/norm_gradient.h"
#include "runtime/forms/pool.h"
#include "runtime/kernel/cells.h"
#include "runtime/kernel/gather_gradient.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/accumulator.h"
#include "runtime/reference/convolution.h"
#include "runtime/reference/families.h"
#include "runtime/reference/gemm.h"

namespace amp {
namespace {

DType GradientType(const KernelContext& context) { return GetDType(context.node(), "to").value_or(DType::kFloat32); }

absl::Status RoundToOutput(KernelContext& context, const Tensor& gradient, DType to) {
  AMP_ASSIGN_OR_RETURN(Tensor rounded, FromAccumulator(gradient, to));
  context.SetOutput(0, std::move(rounded));
  return absl::OkStatus();
}

absl::Status ConvWeightGradient(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Tensor x, ToFloat64(context.Input(0)));
  AMP_ASSIGN_OR_RETURN(const Tensor g, ToFloat64(context.Input(1)));
  AMP_ASSIGN_OR_RETURN(const Tensor gradient, ConvolveForWeights(context.node(), x, g));
  return RoundToOutput(context, gradient, GradientType(context));
}

absl::Status MatrixWeightGradient(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Tensor gradient, ComputeGemm(context));
  return RoundToOutput(context, gradient, GradientType(context));
}

// A table's rows get what was picked from them.
absl::Status GatherGradient(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const PickedRows picked, ReadPickedRows(context));
  AMP_ASSIGN_OR_RETURN(const Tensor g, ToFloat64(context.Input(2)));
  AMP_ASSIGN_OR_RETURN(Tensor gradient, FilledFloat64(picked.table, 0));
  const auto table = gradient.mutable_elements<double>();
  for (size_t i = 0; i < picked.rows.size(); ++i) {
    for (size_t k = 0; k < picked.row_size; ++k) {
      table[picked.rows[i] * picked.row_size + k] += Doubles(g)[i * picked.row_size + k];
    }
  }
  return RoundToOutput(context, gradient, GradientType(context));
}

// Returns the element of an image that is the largest of a window, the first of equal ones, as in MaxPool; the image's
// first for a window of padding alone.
size_t LargestOf(absl::Span<const double> image, absl::Span<const int64_t> places) {
  size_t largest = places.empty() ? 0 : static_cast<size_t>(places[0]);
  for (const int64_t candidate : places) {
    const auto place = static_cast<size_t>(candidate);
    if (image[place] > image[largest] || std::isnan(image[place])) largest = place;
  }
  return largest;
}

absl::Status MaxPoolGradient(KernelContext& context) {
  if (context.Input(0).rank() < 3) return ModelError("expected images, found ", context.Input(0).TypeText());
  AMP_ASSIGN_OR_RETURN(const Tensor x, ToFloat64(context.Input(0)));
  AMP_ASSIGN_OR_RETURN(const Tensor g, ToFloat64(context.Input(1)));
  AMP_ASSIGN_OR_RETURN(const PoolForm form, ReadPool(context.node(), SpatialDims(x)));
  const Window& window = form.window;
  const Dims dims = OutputDims(window, x.dim(0), x.dim(1));
  if (g.dims() != dims) return ModelError("input 1: expected ", DimsText(dims), ", found ", DimsText(g.dims()));
  AMP_ASSIGN_OR_RETURN(Tensor gradient, FilledFloat64(x.dims(), 0));
  if (x.num_elements() == 0) return RoundToOutput(context, gradient, context.Input(0).dtype());
  const auto images = static_cast<size_t>(ElementsBetween(x.dims(), 0, 2));
  const size_t image_size = Doubles(x).size() / images, positions = NumPositions(window);
  const auto out = gradient.mutable_elements<double>();
  VisitWindows(window, [&](const WindowRun& run) {
    for (size_t i = 0; i < images * run.ends.size(); ++i) {
      const size_t image = i / run.ends.size(), position = i % run.ends.size(), first = image * image_size;
      out[first + LargestOf(Doubles(x).subspan(first, image_size), run.PlacesOf(position))] +=
          Doubles(g)[image * positions + run.first + position];
    }
  });
  return RoundToOutput(context, gradient, context.Input(0).dtype());
}

// The gradient of an average pool, from g, the divisor of each of its elements, and the shape of dx.
absl::Status AveragePoolGradient(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Tensor g, ToFloat64(context.Input(0)));
  AMP_ASSIGN_OR_RETURN(const Tensor share, ToFloat64(context.Input(1)));
  AMP_ASSIGN_OR_RETURN(const Dims dims, context.InputInts(2));
  AMP_ASSIGN_OR_RETURN(Tensor gradient, FilledFloat64(dims, 0));
  const absl::StatusOr<Dims> both = BroadcastDims(share.dims(), g.dims());
  const bool fits = dims.size() >= 3 && dims.size() == g.rank() && dims[0] == g.dim(0) && dims[1] == g.dim(1);
  if (!fits || !both.ok() || *both != g.dims()) {
    return ModelError("expected g, its shares and a shape that fit each other, found ", g.TypeText(), ", ",
                      share.TypeText(), " and ", DimsText(dims));
  }
  AMP_ASSIGN_OR_RETURN(const Window window, ReadAveragedWindow(context.node(), dims, g.dims()));
  if (g.num_elements() == 0 || gradient.num_elements() == 0)
    return RoundToOutput(context, gradient, context.Input(0).dtype());
  const size_t positions = NumPositions(window);
  const auto images = static_cast<size_t>(g.num_elements()) / positions;
  const size_t image_size = Doubles(gradient).size() / images;
  const auto out = gradient.mutable_elements<double>();
  std::vector<double> shares(Doubles(g).begin(), Doubles(g).end());
  size_t i = 0;
  for (StridedWalk walk(g.dims(), {BroadcastStrides(share.dims(), g.dims())}); !walk.AtEnd(); walk.Next()) {
    shares[i++] *= Doubles(share)[walk[0]];
  }
  VisitWindows(window, [&](const WindowRun& run) {
    for (size_t image = 0; image < images; ++image) {
      for (size_t k = 0; k < run.ends.size(); ++k) {
        for (const int64_t place : run.PlacesOf(k)) {
          out[image * image_size + static_cast<size_t>(place)] += shares[image * positions + run.first + k];
        }
      }
    }
  });
  return RoundToOutput(context, gradient, context.Input(0).dtype());
}

// ---- norms
// ------------------------------------------------------------------------------------------------------------

enum class Centre { kMean, kZero };

absl::StatusOr<std::vector<size_t>> AxesOf(const KernelContext& context, absl::string_view name) {
  return NormalizeAxes(GetInts(context.node(), name).value_or(Dims()), context.Input(0).rank());
}

// x normalized cell by cell, and by element what it was divided by.
struct Normalized {
  std::vector<double> elements, deviations;
};
Normalized NormalizeCells(const Cells& cells, absl::Span<const double> x, Centre centre, double epsilon) {
  Normalized normalized{std::vector<double>(x.begin(), x.end()), std::vector<double>(x.size())};
  const auto count = static_cast<double>(cells.offsets.size());
  for (const size_t start : cells.starts) {
    double mean = 0, variance = 0;
    for (const size_t offset : cells.offsets) mean += centre == Centre::kMean ? x[start + offset] / count : 0;
    for (const size_t offset : cells.offsets) variance += std::pow(x[start + offset] - mean, 2) / count;
    const double deviation = std::sqrt(variance + epsilon);
    for (const size_t offset : cells.offsets) {
      normalized.elements[start + offset] = (x[start + offset] - mean) / deviation;
      normalized.deviations[start + offset] = deviation;
    }
  }
  return normalized;
}

// dx of s = scale * g, in place.
void ToNormGradient(const Cells& cells, const Normalized& n, Centre centre, absl::Span<double> s) {
  const auto count = static_cast<double>(cells.offsets.size());
  for (const size_t start : cells.starts) {
    double mean = 0, along = 0;
    for (const size_t offset : cells.offsets) {
      mean += centre == Centre::kMean ? s[start + offset] / count : 0;
      along += s[start + offset] * n.elements[start + offset] / count;
    }
    for (const size_t offset : cells.offsets) {
      const size_t i = start + offset;
      s[i] = (s[i] - n.elements[i] * along - mean) / n.deviations[i];
    }
  }
}

// Output 1: the sums of `products`, as many as x has elements, along axes.
absl::Status WriteScaleGradient(KernelContext& context, const std::vector<double>& products) {
  AMP_ASSIGN_OR_RETURN(const std::vector<size_t> axes, AxesOf(context, "scale_axes"));
  const Dims& dims = context.Input(0).dims();
  Dims kept;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) kept.push_back(dims[i]);
  }
  AMP_ASSIGN_OR_RETURN(Tensor sums, FilledFloat64(kept, 0));
  const Cells cells = products.empty() ? Cells() : CellsAlong(dims, axes);
  for (size_t cell = 0; cell < cells.starts.size(); ++cell) {
    for (const size_t offset : cells.offsets) {
      sums.mutable_elements<double>()[cell] += products[cells.starts[cell] + offset];
    }
  }
  AMP_ASSIGN_OR_RETURN(Tensor rounded, FromAccumulator(sums, GradientType(context)));
  context.SetOutput(1, std::move(rounded));
  return absl::OkStatus();
}

template <Centre kCentre>
absl::Status NormGradient(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Tensor x, ToFloat64(context.Input(0)));
  AMP_ASSIGN_OR_RETURN(const Tensor scale, ToFloat64(context.Input(1)));
  AMP_ASSIGN_OR_RETURN(const Tensor g, ToFloat64(context.Input(2)));
  AMP_ASSIGN_OR_RETURN(const std::vector<size_t> axes, AxesOf(context, "axes"));
  const absl::StatusOr<Dims> both = BroadcastDims(scale.dims(), x.dims());
  if (g.dims() != x.dims() || !both.ok() || *both != x.dims()) {
    return ModelError("expected x, a scale that broadcasts to it and g like x, found ", x.TypeText(), ", ",
                      scale.TypeText(), " and ", g.TypeText());
  }
  const double epsilon = ReadNormGradientEpsilon(context);
  const Cells cells = x.num_elements() == 0 ? Cells() : CellsAlong(x.dims(), axes);
  const Normalized normalized = NormalizeCells(cells, Doubles(x), kCentre, epsilon);
  AMP_ASSIGN_OR_RETURN(Tensor gradient, FilledFloat64(x.dims(), 0));
  const auto scaled = gradient.mutable_elements<double>();
  std::vector<double> products(scaled.size());
  size_t i = 0;
  for (StridedWalk walk(x.dims(), {BroadcastStrides(scale.dims(), x.dims())}); !walk.AtEnd(); walk.Next(), ++i) {
    products[i] = Doubles(g)[i] * normalized.elements[i];
    scaled[i] = Doubles(g)[i] * Doubles(scale)[walk[0]];
  }
  ToNormGradient(cells, normalized, kCentre, scaled);
  if (context.num_outputs() > 1) AMP_RETURN_IF_ERROR(WriteScaleGradient(context, products));
  return RoundToOutput(context, gradient, GradientType(context));
}

constexpr absl::string_view kDomain = "ai.amp";
constexpr KernelRow kRows[] = {
    {"ConvWeightGradient", ConvWeightGradient, kDomain},
    {"MatrixWeightGradient", MatrixWeightGradient, kDomain},
    {"GatherGradient", GatherGradient, kDomain},
    {"MaxPoolGradient", MaxPoolGradient, kDomain},
    {"AveragePoolGradient", AveragePoolGradient, kDomain},
    {"BatchNormalizationGradient", NormGradient<Centre::kMean>, kDomain},
    {"InstanceNormalizationGradient", NormGradient<Centre::kMean>, kDomain},
    {"LayerNormalizationGradient", NormGradient<Centre::kMean>, kDomain},
    {"RMSNormalizationGradient", NormGradient<Centre::kZero>, kDomain},
};

}  // namespace

absl::Span<const KernelRow> GradientKernels() { return kRows; }

}  // namespace amp
