// Resize and Upsample of every version.
//
//   what the node says                   one ResampledAxis per axis       (ReadScales, ReadSizes)
//   one axis after another               resample_axis.h                  (nearest: moves elements; else float64)
//   tf_crop_and_resize                   extrapolation_value where a position is outside of the input
//
// Where a scale gives the length, it is floor(scale * length) in float32, as ONNX's shape inference has it; coordinates
// follow the scale and not the rounded length. Upsample and Resize-10 have no choice of coordinates: they count from the
// corner (kAsymmetric) and round down where they enlarge, up where they shrink.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>

#include "runtime/kernel/doubles.h"
#include "runtime/kernel/layout.h"
#include "runtime/kernel/move_elements.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/families.h"
#include "runtime/reference/resample_axis.h"

namespace amp {
namespace {

struct Resampling {
  std::vector<ResampledAxis> axes;  // of X, all
  ResampleOptions options;
  double extrapolation_value = 0;
};

template <typename T>
struct Choice {
  absl::string_view name;
  T value;
};

template <typename T, size_t n>
absl::StatusOr<T> ReadChoice(const Node& node, absl::string_view attribute, const Choice<T> (&choices)[n]) {
  const std::string name = GetString(node, attribute, choices[0].name);  // the first is the default
  for (const Choice<T>& choice : choices) {
    if (choice.name == name) return choice.value;
  }
  return ModelError("no kernel for ", attribute, " '", Escaped(name), "'");
}

constexpr Choice<Interpolation> kModes[] = {{"nearest", Interpolation::kNearest},
                                            {"linear", Interpolation::kLinear},
                                            {"bilinear", Interpolation::kLinear},  // Upsample-1
                                            {"cubic", Interpolation::kCubic}};
constexpr Choice<Coordinates> kCoordinates[] = {{"half_pixel", Coordinates::kHalfPixel},
                                                {"half_pixel_symmetric", Coordinates::kHalfPixelSymmetric},
                                                {"pytorch_half_pixel", Coordinates::kPytorchHalfPixel},
                                                {"tf_half_pixel_for_nn", Coordinates::kTfHalfPixelForNn},
                                                {"align_corners", Coordinates::kAlignCorners},
                                                {"asymmetric", Coordinates::kAsymmetric},
                                                {"tf_crop_and_resize", Coordinates::kTfCropAndResize}};
constexpr Choice<Rounding> kRoundings[] = {{"round_prefer_floor", Rounding::kPreferFloor},
                                           {"round_prefer_ceil", Rounding::kPreferCeil},
                                           {"floor", Rounding::kFloor},
                                           {"ceil", Rounding::kCeil}};
enum class Policy { kStretch, kNotLarger, kNotSmaller };
constexpr Choice<Policy> kPolicies[] = {
    {"stretch", Policy::kStretch}, {"not_larger", Policy::kNotLarger}, {"not_smaller", Policy::kNotSmaller}};

Resampling Unchanged(const Tensor& x) {
  Resampling result;
  for (const int64_t dim : x.dims()) {
    result.axes.push_back({.in = dim, .out = dim, .exact_out = static_cast<double>(dim)});
  }
  return result;
}

// Axes that scales, sizes and roi speak of, as many as they have.
absl::StatusOr<std::vector<size_t>> ReadAxes(const Node& node, size_t rank) {
  std::vector<size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), size_t{0});
  const auto stated = GetInts(node, "axes");
  if (!stated.has_value() || stated->empty()) return axes;
  AMP_RETURN_IF_ERROR(NormalizeAxes(*stated, rank).status());  // twice the same
  axes.clear();
  for (const int64_t axis : *stated) {
    AMP_ASSIGN_OR_RETURN(const size_t normal, NormalizeAxis(axis, rank));
    axes.push_back(normal);
  }
  return axes;
}

absl::Status CheckCount(absl::string_view name, size_t expected, size_t found) {
  return expected == found ? absl::OkStatus() : ModelError(name, ": expected ", expected, " values, found ", found);
}

absl::Status SetScales(absl::Span<const double> scales, absl::Span<const size_t> axes, Resampling& resampling) {
  AMP_RETURN_IF_ERROR(CheckCount("scales", axes.size(), scales.size()));
  for (size_t i = 0; i < axes.size(); ++i) {
    ResampledAxis& axis = resampling.axes[axes[i]];
    if (!(scales[i] > 0) || std::isinf(scales[i])) {
      return ModelError("expected scales greater than 0, found ", scales[i]);
    }
    axis.scale = scales[i];
    axis.exact_out = scales[i] * static_cast<double>(axis.in);
    const float out = std::floor(static_cast<float>(axis.in) * static_cast<float>(scales[i]));
    if (!(out <= static_cast<float>(kMaxElements))) {
      return LimitError("expected at most ", kMaxElements, " elements along an axis, found ", axis.in, " * ",
                        scales[i]);
    }
    axis.out = scales[i] == 1 ? axis.in : static_cast<int64_t>(out);
  }
  return absl::OkStatus();
}

absl::Status SetSizes(absl::Span<const int64_t> sizes, absl::Span<const size_t> axes, Policy policy,
                      Resampling& resampling) {
  AMP_RETURN_IF_ERROR(CheckCount("sizes", axes.size(), sizes.size()));
  for (size_t i = 0; i < axes.size(); ++i) {
    ResampledAxis& axis = resampling.axes[axes[i]];
    if (sizes[i] < 0 || sizes[i] > kMaxElements) {
      return ModelError("expected sizes in [0, ", kMaxElements, "], found ", sizes[i]);
    }
    if (axis.in == 0 && sizes[i] > 0) return ModelError("expected elements to make ", sizes[i], " of, found none");
    axis.out = sizes[i];
    axis.is_sized = true;
    axis.exact_out = static_cast<double>(sizes[i]);
    axis.scale = axis.in == 0 ? 1 : axis.exact_out / static_cast<double>(axis.in);
  }
  if (policy == Policy::kStretch || axes.empty()) return absl::OkStatus();
  double scale = resampling.axes[axes[0]].scale;
  for (const size_t i : axes) {
    const double other = resampling.axes[i].scale;
    scale = policy == Policy::kNotLarger ? std::min(scale, other) : std::max(scale, other);
  }
  for (const size_t i : axes) {
    ResampledAxis& axis = resampling.axes[i];
    axis.scale = scale;
    axis.is_sized = false;
    axis.exact_out = scale * static_cast<double>(axis.in);
    const double out = std::floor(axis.exact_out + 0.5);
    if (out > static_cast<double>(kMaxElements))
      return LimitError("expected a smaller output, found ", out, " elements");
    axis.out = static_cast<int64_t>(out);
  }
  return absl::OkStatus();
}

absl::Status ReadRoi(const KernelContext& context, absl::Span<const size_t> axes, Resampling& resampling) {
  constexpr size_t kRoi = 1;
  if (resampling.options.coordinates != Coordinates::kTfCropAndResize) return absl::OkStatus();
  if (!context.HasInput(kRoi)) return ModelError("expected a roi for tf_crop_and_resize, found none");
  AMP_ASSIGN_OR_RETURN(const std::vector<double> roi, ReadDoubles(context.Input(kRoi)));
  AMP_RETURN_IF_ERROR(CheckCount("roi", 2 * axes.size(), roi.size()));
  for (size_t i = 0; i < axes.size(); ++i) {
    resampling.axes[axes[i]].start = roi[i];
    resampling.axes[axes[i]].end = roi[axes.size() + i];
  }
  return absl::OkStatus();
}

// [outer, in, inner] to [outer, out, inner] by one axis of `dims`, which becomes `out`.
// `make(line, inner, i, out)` makes the `inner` elements of output i from those of the line.
template <typename Make>
std::vector<double> ResampleAxis(const std::vector<double>& x, Dims& dims, size_t at, int64_t out, Make make) {
  const auto outer = static_cast<size_t>(ElementsBetween(dims, 0, at));
  const auto inner = static_cast<size_t>(ElementsBetween(dims, at + 1, dims.size()));
  const auto length = static_cast<size_t>(dims[at]), new_length = static_cast<size_t>(out);
  std::vector<double> y(outer * new_length * inner);
  for (size_t o = 0; o < outer; ++o) {
    for (size_t i = 0; i < new_length; ++i) {
      make(x.data() + o * length * inner, inner, i, y.data() + (o * new_length + i) * inner);
    }
  }
  dims[at] = out;
  return y;
}

// Axes that become shorter come first, so that what lies between is never larger than input and output.
std::vector<size_t> BestOrder(const std::vector<ResampledAxis>& axes) {
  std::vector<size_t> order(axes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto growth = [&](size_t i) { return static_cast<double>(axes[i].out) / static_cast<double>(axes[i].in); };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return growth(a) < growth(b); });
  return order;
}

absl::Status MoveNearest(const Tensor& x, const Resampling& resampling, Tensor& y) {
  std::vector<std::vector<int64_t>> picks;
  for (const ResampledAxis& axis : resampling.axes) {
    picks.push_back(NearestElements(axis, SourcePositions(axis, resampling.options), resampling.options));
  }
  return CopyPicked(x, picks, /*fill=*/nullptr, y);
}

absl::Status Interpolate(const Tensor& x, const Resampling& resampling, Tensor& y) {
  AMP_ASSIGN_OR_RETURN(std::vector<double> elements, ReadDoubles(x));
  Dims dims = x.dims();
  for (const size_t at : BestOrder(resampling.axes)) {
    const ResampledAxis& axis = resampling.axes[at];
    const std::vector<double> positions = SourcePositions(axis, resampling.options);
    if (IsIdentity(axis, positions)) continue;
    const WeightedElements sum = InterpolationWeights(axis, positions, resampling.options);
    elements = ResampleAxis(elements, dims, at, axis.out, [&](const double* line, size_t inner, size_t i, double* out) {
      for (size_t k = sum.begin[i]; k < sum.begin[i + 1]; ++k) {
        const double* from = line + static_cast<size_t>(sum.element[k]) * inner;
        for (size_t j = 0; j < inner; ++j) out[j] += sum.weight[k] * from[j];
      }
    });
  }
  const bool is_integer = VisitIntegers(x.dtype(), [](auto) {});
  if (is_integer) {
    std::transform(elements.begin(), elements.end(), elements.begin(), [](double e) { return std::nearbyint(e); });
  }
  return WriteDoubles(elements, y);
}

// Per axis and index of the output: whether it comes from outside of the input.
std::vector<std::vector<bool>> FindOutside(const Resampling& resampling) {
  std::vector<std::vector<bool>> outside;
  for (const ResampledAxis& axis : resampling.axes) {
    outside.emplace_back();
    for (const double x : SourcePositions(axis, resampling.options)) {
      outside.back().push_back(!(x >= 0 && x <= static_cast<double>(axis.in - 1)));
    }
  }
  return outside;
}

absl::Status Extrapolate(const Resampling& resampling, Tensor& y) {
  const auto outside = FindOutside(resampling);
  const bool known = VisitNumbersAndBool(y.dtype(), [&]<typename T>(TypeTag<T>) {
    const T value = StoreDouble<T>(resampling.extrapolation_value);
    const auto out = y.mutable_elements<T>();
    for (StridedWalk walk(y.dims(), {RowStrides(y.dims())}); !walk.AtEnd(); walk.Next()) {
      for (size_t i = 0; i < outside.size(); ++i) {
        if (outside[i][static_cast<size_t>(walk.index()[i])]) out[walk[0]] = value;
      }
    }
  });
  return known ? absl::OkStatus() : ModelError("no extrapolation for ", DTypeName(y.dtype()));
}

// In either layout: the axes are resampled in the order in which they lie in memory.
absl::Status Compute(KernelContext& context, Resampling resampling) {
  const Tensor x = AsInMemory(context.Input(0));
  const Layout layout = context.Input(0).layout();
  Dims dims;
  for (const ResampledAxis& axis : resampling.axes) dims.push_back(axis.out);
  AMP_ASSIGN_OR_RETURN(Tensor * output, context.MakeOutput(0, x.dtype(), dims));
  output->set_layout(layout);
  if (output->num_elements() == 0) return absl::OkStatus();
  Tensor y = AsInMemory(*output);
  std::vector<ResampledAxis>& axes = resampling.axes;
  if (layout == Layout::kChannelsLast) std::rotate(axes.begin() + 1, axes.begin() + 2, axes.end());
  const bool is_nearest = resampling.options.interpolation == Interpolation::kNearest;
  AMP_RETURN_IF_ERROR(is_nearest ? MoveNearest(x, resampling, y) : Interpolate(x, resampling, y));
  if (resampling.options.coordinates != Coordinates::kTfCropAndResize) return absl::OkStatus();
  return Extrapolate(resampling, y);
}

absl::StatusOr<Resampling> OldResampling(const KernelContext& context) {
  Resampling resampling = Unchanged(context.Input(0));
  resampling.options.coordinates = Coordinates::kAsymmetric;
  resampling.options.rounding = Rounding::kByDirection;
  AMP_ASSIGN_OR_RETURN(resampling.options.interpolation, ReadChoice(context.node(), "mode", kModes));
  return resampling;
}

absl::Status ComputeOld(KernelContext& context, absl::Span<const double> scales) {
  AMP_ASSIGN_OR_RETURN(Resampling resampling, OldResampling(context));
  AMP_ASSIGN_OR_RETURN(const std::vector<size_t> axes, ReadAxes(context.node(), context.Input(0).rank()));
  AMP_RETURN_IF_ERROR(SetScales(scales, axes, resampling));
  return Compute(context, resampling);
}

absl::Status ScaleByInput(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const std::vector<double> scales, ReadDoubles(context.Input(1)));
  return ComputeOld(context, scales);
}

absl::Status Upsample(KernelContext& context) {
  const Node& node = context.node();
  if (context.version() >= 9) return ScaleByInput(context);
  if (context.version() >= 7) {
    const auto scales = GetFloats(node, "scales").value_or(std::vector<float>());
    return ComputeOld(context, std::vector<double>(scales.begin(), scales.end()));
  }
  const auto height = GetFloat(node, "height_scale"), width = GetFloat(node, "width_scale");
  if (!height || !width) return ModelError("expected attributes height_scale and width_scale, found one or none");
  return ComputeOld(context, {1, 1, *height, *width});
}

absl::Status ReadOptions(const KernelContext& context, Resampling& resampling) {
  const Node& node = context.node();
  ResampleOptions& options = resampling.options;
  AMP_ASSIGN_OR_RETURN(options.interpolation, ReadChoice(node, "mode", kModes));
  AMP_ASSIGN_OR_RETURN(options.coordinates, ReadChoice(node, "coordinate_transformation_mode", kCoordinates));
  AMP_ASSIGN_OR_RETURN(options.rounding, ReadChoice(node, "nearest_mode", kRoundings));
  options.cubic_a = GetFloat(node, "cubic_coeff_a", -0.75f);
  options.antialias = GetInt(node, "antialias", 0) != 0;
  options.exclude_outside = GetInt(node, "exclude_outside", 0) != 0;
  resampling.extrapolation_value = GetFloat(node, "extrapolation_value", 0);
  return absl::OkStatus();
}

// An empty tensor of scales or sizes is none: version 11 requires scales, even beside sizes.
absl::Status Resize(KernelContext& context) {
  constexpr size_t kScales = 2, kSizes = 3;
  if (context.version() < 11) return ScaleByInput(context);
  const Tensor& x = context.Input(0);
  Resampling resampling = Unchanged(x);
  AMP_RETURN_IF_ERROR(ReadOptions(context, resampling));
  AMP_ASSIGN_OR_RETURN(const std::vector<size_t> axes, ReadAxes(context.node(), x.rank()));
  AMP_RETURN_IF_ERROR(ReadRoi(context, axes, resampling));
  const bool has_scales = context.Input(kScales).num_elements() > 0, has_sizes = context.HasInput(kSizes);
  if (has_scales && context.Input(kSizes).num_elements() > 0) {
    return ModelError("expected scales or sizes, found both");
  }
  if (!has_scales && !has_sizes) return ModelError("expected scales or sizes, found neither");
  if (has_scales) {
    AMP_ASSIGN_OR_RETURN(const std::vector<double> scales, ReadDoubles(context.Input(kScales)));
    AMP_RETURN_IF_ERROR(SetScales(scales, axes, resampling));
    return Compute(context, resampling);
  }
  AMP_ASSIGN_OR_RETURN(const Policy policy, ReadChoice(context.node(), "keep_aspect_ratio_policy", kPolicies));
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, context.InputInts(kSizes));
  AMP_RETURN_IF_ERROR(SetSizes(sizes, axes, policy, resampling));
  return Compute(context, resampling);
}

constexpr KernelRow kRows[] = {
    {.op_type = "Resize", .function = Resize, .takes_channels_last = true},
    {.op_type = "Upsample", .function = Upsample, .takes_channels_last = true},
};

}  // namespace

absl::Span<const KernelRow> ResizeKernels() { return kRows; }

}  // namespace amp
