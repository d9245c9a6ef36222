// Gradients of convolutions, norms and pools, as ONNX Runtime's training graphs have them.
//
//   dx, dw, db = com.microsoft.ConvGrad (dy, x, w)     dx = MaxPoolGrad (dy, indices)
//   dx, dscale, dbias = com.microsoft.LayerNormalizationGrad (dy, x, scale, mean, 1 / deviation)
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "ir/graph/shape.h"
#include "runtime/forms/convolution.h"
#include "runtime/forms/pool.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/accumulator.h"
#include "runtime/reference/convolution.h"
#include "runtime/reference/float_cells.h"
#include "runtime/reference/training_families.h"

namespace amp {
namespace {

absl::Status SetRounded(KernelContext& context, size_t port, const Tensor& gradient, DType dtype) {
  if (!context.HasOutput(port)) return absl::OkStatus();
  AMP_ASSIGN_OR_RETURN(Tensor rounded, FromAccumulator(gradient, dtype));
  context.SetOutput(port, std::move(rounded));
  return absl::OkStatus();
}

// ---- convolutions
// -----------------------------------------------------------------------------------------------------

struct Convolution {
  Tensor dy, x, w, dx, dw;
  Window window;
  size_t outputs = 0, inputs = 0;  // channels of a group
};

absl::StatusOr<Convolution> ReadConvolution(const KernelContext& context) {
  Convolution c;
  AMP_ASSIGN_OR_RETURN(c.dy, ToFloat64(context.Input(0)));
  AMP_ASSIGN_OR_RETURN(c.x, ToFloat64(context.Input(1)));
  AMP_ASSIGN_OR_RETURN(c.w, ToFloat64(context.Input(2)));
  AMP_RETURN_IF_ERROR(CheckConvolution(context.node(), c.x, c.w));
  AMP_ASSIGN_OR_RETURN(const int64_t group, ReadGroup(context.node(), c.x.dim(1)));
  AMP_ASSIGN_OR_RETURN(c.window, SlideWindow(context.node(), SpatialDims(c.x), SpatialDims(c.w)));
  const Dims dims = OutputDims(c.window, c.x.dim(0), c.w.dim(0));
  if (c.dy.dims() != dims) return ModelError("input 0: expected ", DimsText(dims), ", found ", c.dy.TypeText());
  c.outputs = static_cast<size_t>(c.w.dim(0) / group);
  c.inputs = static_cast<size_t>(c.w.dim(1));
  AMP_ASSIGN_OR_RETURN(c.dx, FilledFloat64(c.x.dims(), 0));
  AMP_ASSIGN_OR_RETURN(c.dw, FilledFloat64(c.w.dims(), 0));
  return c;
}

// Adds the gradient of channel `output` of an image to one of its group's inputs: `places` are those of all taps.
void GiveBack(Convolution& c, size_t image, size_t output, size_t input, absl::Span<const int64_t> places) {
  const size_t taps = NumTaps(c.window), positions = NumPositions(c.window);
  const auto channels = static_cast<size_t>(c.x.dim(1)), all = static_cast<size_t>(c.w.dim(0));
  const size_t channel = output / c.outputs * c.inputs + input,
               size = Doubles(c.x).size() / channels / static_cast<size_t>(c.x.dim(0));
  const size_t x_first = (image * channels + channel) * size, w_first = (output * c.inputs + input) * taps;
  const auto dy = Doubles(c.dy).subspan((image * all + output) * positions, positions);
  const auto x = Doubles(c.x), w = Doubles(c.w);
  const auto dx = c.dx.mutable_elements<double>(), dw = c.dw.mutable_elements<double>();
  for (size_t tap = 0; tap < taps; ++tap) {
    for (size_t position = 0; position < positions; ++position) {
      const int64_t place = places[tap * positions + position];
      if (place < 0) continue;  // padding
      dx[x_first + static_cast<size_t>(place)] += dy[position] * w[w_first + tap];
      dw[w_first + tap] += dy[position] * x[x_first + static_cast<size_t>(place)];
    }
  }
}

absl::StatusOr<Tensor> BiasGradient(const Convolution& c) {
  AMP_ASSIGN_OR_RETURN(Tensor sums, FilledFloat64({c.w.dim(0)}, 0));
  const auto out = sums.mutable_elements<double>();
  const size_t positions = NumPositions(c.window);
  for (size_t i = 0; i < Doubles(c.dy).size(); ++i) out[i / positions % out.size()] += Doubles(c.dy)[i];
  return sums;
}

absl::Status ConvGrad(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(Convolution c, ReadConvolution(context));
  const bool has_elements = c.dy.num_elements() > 0 && c.x.num_elements() > 0 && c.w.num_elements() > 0;
  const std::vector<int64_t> places =
      has_elements ? TapPlaces(c.window, 0, NumPositions(c.window)) : std::vector<int64_t>();
  const auto images = static_cast<size_t>(has_elements ? c.x.dim(0) : 0), all = static_cast<size_t>(c.w.dim(0));
  for (size_t i = 0; i < images * all * c.inputs; ++i) {
    GiveBack(c, i / c.inputs / all, i / c.inputs % all, i % c.inputs, places);
  }
  const DType type = context.Input(0).dtype();
  AMP_ASSIGN_OR_RETURN(const Tensor db, BiasGradient(c));
  AMP_RETURN_IF_ERROR(SetRounded(context, 0, c.dx, type));
  AMP_RETURN_IF_ERROR(SetRounded(context, 1, c.dw, type));
  return SetRounded(context, 2, db, type);
}

// ---- norms
// ------------------------------------------------------------------------------------------------------------

// The numbers of [outer, channels, inner]: a layer's norm has its channels last, a batch's has statistics for each.
struct Norm {
  std::vector<double> dy, normal, scale, factor;  // normal: x normalized; factor: 1 / deviation, by element
  size_t rows = 0, width = 0;
  bool has_mean = true;
};

// dx in place of dy; sums up the gradients of scale and bias.
void ToLayerGradient(Norm& n, std::vector<double>& scale_sums, std::vector<double>& bias_sums) {
  const auto count = static_cast<double>(n.width);
  for (size_t row = 0; row < n.rows; ++row) {
    double mean = 0, along = 0;
    for (size_t i = 0; i < n.width; ++i) {
      const size_t at = row * n.width + i;
      scale_sums[i] += n.dy[at] * n.normal[at];
      bias_sums[i] += n.dy[at];
      n.dy[at] *= n.scale[i];
      if (n.has_mean) mean += n.dy[at] / count;
      along += n.dy[at] * n.normal[at] / count;
    }
    for (size_t i = 0; i < n.width; ++i) {
      const size_t at = row * n.width + i;
      n.dy[at] = n.factor[row] * (n.dy[at] - mean - n.normal[at] * along);
    }
  }
}

absl::StatusOr<Norm> ReadLayerNorm(const KernelContext& context, size_t scale_port, size_t factor_port) {
  const Tensor& x = context.Input(1);
  AMP_ASSIGN_OR_RETURN(const size_t axis, NormalizeAxis(GetInt(context.node(), "axis", -1), x.rank()));
  Norm n;
  n.rows = static_cast<size_t>(ElementsBetween(x.dims(), 0, axis));
  n.width = static_cast<size_t>(ElementsBetween(x.dims(), axis, x.rank()));
  AMP_ASSIGN_OR_RETURN(n.dy, ReadFloats(context, 0, n.rows * n.width));
  AMP_ASSIGN_OR_RETURN(n.normal, ReadFloats(context, 1));
  AMP_ASSIGN_OR_RETURN(n.scale, ReadFloats(context, scale_port, n.width));
  AMP_ASSIGN_OR_RETURN(n.factor, ReadFloats(context, factor_port, n.rows));
  return n;
}

absl::Status WriteLayerGradients(KernelContext& context, Norm n, size_t scale_port) {
  std::vector<double> scale_sums(n.width, 0.0), bias_sums(n.width, 0.0);
  ToLayerGradient(n, scale_sums, bias_sums);
  const Tensor& scale = context.Input(scale_port);
  AMP_RETURN_IF_ERROR(WriteOutput(context, 0, context.Input(0).dtype(), context.Input(1).dims(), n.dy));
  AMP_RETURN_IF_ERROR(WriteOutput(context, 1, scale.dtype(), scale.dims(), scale_sums));
  if (!context.HasOutput(2)) return absl::OkStatus();
  return WriteOutput(context, 2, scale.dtype(), scale.dims(), bias_sums);
}

// Inputs: dy, x, the scale, means, 1 / deviations.
absl::Status LayerNormalizationGrad(KernelContext& context) {
  if (!context.HasInput(4)) return ModelError("expected 5 inputs, found ", context.num_inputs());
  AMP_ASSIGN_OR_RETURN(Norm n, ReadLayerNorm(context, 2, 4));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> means, ReadFloats(context, 3, n.rows));
  for (size_t i = 0; i < n.normal.size(); ++i) n.normal[i] = (n.normal[i] - means[i / n.width]) * n.factor[i / n.width];
  return WriteLayerGradients(context, std::move(n), 2);
}

// Inputs: dy, x, the scale, 1 / deviations.
absl::Status SimplifiedLayerNormalizationGrad(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(Norm n, ReadLayerNorm(context, 2, 3));
  n.has_mean = false;
  for (size_t i = 0; i < n.normal.size(); ++i) n.normal[i] *= n.factor[i / n.width];
  return WriteLayerGradients(context, std::move(n), 2);
}

// Inputs: dy, y, the scale, the bias, 1 / deviations.
absl::Status InvertibleLayerNormalizationGrad(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(Norm n, ReadLayerNorm(context, 2, 4));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> bias, ReadFloats(context, 3, n.width));
  for (size_t i = 0; i < n.normal.size(); ++i) {
    n.normal[i] = (n.normal[i] - bias[i % n.width]) / n.scale[i % n.width];
  }
  return WriteLayerGradients(context, std::move(n), 2);
}

// Inputs: dy, x, the scale, means, and what BatchNormInternal saves as variance: 1 / deviations. By channel, axis 1.
absl::Status BatchNormalizationGrad(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Dims dims, ChannelDims(context.Input(1).dims()));
  const auto channels = static_cast<size_t>(dims[1]), inner = static_cast<size_t>(dims[2]);
  const double count = static_cast<double>(dims[0]) * static_cast<double>(dims[2]);
  AMP_ASSIGN_OR_RETURN(std::vector<double> dx, ReadFloats(context, 0));
  AMP_ASSIGN_OR_RETURN(std::vector<double> normal, ReadFloats(context, 1, dx.size()));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> scale, ReadFloats(context, 2, channels));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> means, ReadFloats(context, 3, channels));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> factors, ReadFloats(context, 4, channels));
  std::vector<double> scale_sums(channels, 0.0), bias_sums(channels, 0.0);
  for (size_t i = 0; i < dx.size(); ++i) {
    const size_t channel = i / inner % channels;
    normal[i] = (normal[i] - means[channel]) * factors[channel];
    scale_sums[channel] += dx[i] * normal[i];
    bias_sums[channel] += dx[i];
  }
  for (size_t i = 0; i < dx.size(); ++i) {
    const size_t channel = i / inner % channels;
    const double rest = dx[i] - bias_sums[channel] / count - normal[i] * scale_sums[channel] / count;
    dx[i] = scale[channel] * factors[channel] * rest;
  }
  const DType type = context.Input(2).dtype();
  AMP_RETURN_IF_ERROR(WriteOutput(context, 0, context.Input(0).dtype(), context.Input(1).dims(), dx));
  AMP_RETURN_IF_ERROR(WriteOutput(context, 1, type, context.Input(2).dims(), scale_sums));
  return WriteOutput(context, 2, type, context.Input(2).dims(), bias_sums);
}

// ---- pools
// ------------------------------------------------------------------------------------------------------------

// Neither pool's gradient has an input that says how large its images were: ONNX Runtime takes that from the shape that
// the graph states, and so does this.
absl::StatusOr<Tensor> ZerosAsStated(const KernelContext& context) {
  const std::optional<Dims> dims = ShapeOf(context.model(), context.node().Output(0));
  const Dims& dy = context.Input(0).dims();
  if (!dims.has_value() || dims->size() != dy.size() || dims->size() < 3) {
    return ModelError("expected a stated shape of the output, of rank ", dy.size(), ", found none");
  }
  Dims known = *dims;
  for (size_t axis = 0; axis < 2; ++axis) {
    if (known[axis] == kUnknownDim) known[axis] = dy[axis];
  }
  const bool fits =
      std::find(known.begin(), known.end(), kUnknownDim) == known.end() && known[0] == dy[0] && known[1] == dy[1];
  if (!fits) return ModelError("expected a stated shape of the output for ", DimsText(dy), ", found ", DimsText(known));
  return FilledFloat64(std::move(known), 0);
}

// Inputs: dy, and where in all images each result came from.
absl::Status MaxPoolGrad(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(Tensor gradient, ZerosAsStated(context));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> dy, ReadFloats(context, 0));
  AMP_ASSIGN_OR_RETURN(std::vector<int64_t> indices, context.InputInts(1));
  if (indices.size() != dy.size()) return ModelError("expected ", dy.size(), " indices, found ", indices.size());
  AMP_RETURN_IF_ERROR(NormalizeIndices(absl::MakeSpan(indices), gradient.num_elements()));
  const auto out = gradient.mutable_elements<double>();
  for (size_t i = 0; i < dy.size(); ++i) out[static_cast<size_t>(indices[i])] += dy[i];
  return SetRounded(context, 0, gradient, context.Input(0).dtype());
}

absl::Status AveragePoolGrad(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(Tensor gradient, ZerosAsStated(context));
  AMP_ASSIGN_OR_RETURN(const Tensor dy, ToFloat64(context.Input(0)));
  AMP_ASSIGN_OR_RETURN(const PoolForm form, ReadPool(context.node(), SpatialDims(gradient)));
  const Window& window = form.window;
  const Dims dims = OutputDims(window, dy.dim(0), dy.dim(1));
  if (dy.dims() != dims) return ModelError("input 0: expected ", DimsText(dims), ", found ", dy.TypeText());
  if (dy.num_elements() == 0) return SetRounded(context, 0, gradient, context.Input(0).dtype());
  const size_t positions = NumPositions(window), images = Doubles(dy).size() / positions;
  const auto out = gradient.mutable_elements<double>();
  const size_t image_size = out.size() / images;
  VisitWindows(window, [&](const WindowRun& run) {
    for (size_t i = 0; i < images * run.ends.size(); ++i) {
      const size_t image = i / run.ends.size(), position = i % run.ends.size();
      const auto places = run.PlacesOf(position);
      const double share = form.counts_padding ? run.sizes[position] : static_cast<double>(places.size());
      for (const int64_t place : places) {
        out[image * image_size + static_cast<size_t>(place)] +=
            Doubles(dy)[image * positions + run.first + position] / share;
      }
    }
  });
  return SetRounded(context, 0, gradient, context.Input(0).dtype());
}

constexpr absl::string_view kDomain = "com.microsoft";
constexpr KernelRow kRows[] = {
    {"ConvGrad", ConvGrad, kDomain},
    {"LayerNormalizationGrad", LayerNormalizationGrad, kDomain},
    {"SimplifiedLayerNormalizationGrad", SimplifiedLayerNormalizationGrad, kDomain},
    {"InvertibleLayerNormalizationGrad", InvertibleLayerNormalizationGrad, kDomain},
    {"BatchNormalizationGrad", BatchNormalizationGrad, kDomain},
    {"MaxPoolGrad", MaxPoolGrad},
    {"AveragePoolGrad", AveragePoolGrad},
};

}  // namespace

absl::Span<const KernelRow> LayerGradientKernels() { return kRows; }

}  // namespace amp
