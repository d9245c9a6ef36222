#include "runtime/forms/resampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>

#include "absl/types/span.h"
#include "ir/base/status.h"
#include "runtime/kernel/doubles.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

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

absl::StatusOr<Resampling> OldResampling(const KernelContext& context) {
  Resampling resampling = Unchanged(context.Input(0));
  resampling.options.coordinates = Coordinates::kAsymmetric;
  resampling.options.rounding = Rounding::kByDirection;
  AMP_ASSIGN_OR_RETURN(resampling.options.interpolation, ReadChoice(context.node(), "mode", kModes));
  return resampling;
}

absl::StatusOr<Resampling> ReadOld(const KernelContext& context, absl::Span<const double> scales) {
  AMP_ASSIGN_OR_RETURN(Resampling resampling, OldResampling(context));
  AMP_ASSIGN_OR_RETURN(const std::vector<size_t> axes, ReadAxes(context.node(), context.Input(0).rank()));
  AMP_RETURN_IF_ERROR(SetScales(scales, axes, resampling));
  return resampling;
}

absl::StatusOr<Resampling> ScaleByInput(const KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const std::vector<double> scales, ReadDoubles(context.Input(1)));
  return ReadOld(context, scales);
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

}  // namespace

Dims Resampling::OutputDims() const {
  Dims dims;
  for (const ResampledAxis& axis : axes) dims.push_back(axis.out);
  return dims;
}

std::vector<size_t> Resampling::BestOrder() const {
  std::vector<size_t> order(axes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto growth = [&](size_t i) { return static_cast<double>(axes[i].out) / static_cast<double>(axes[i].in); };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return growth(a) < growth(b); });
  return order;
}

Resampling Resampling::InMemory(Layout layout) const {
  Resampling result = *this;
  if (layout == Layout::kChannelsLast) {
    std::rotate(result.axes.begin() + 1, result.axes.begin() + 2, result.axes.end());
  }
  return result;
}

absl::StatusOr<Resampling> ReadUpsample(const KernelContext& context) {
  const Node& node = context.node();
  if (context.version() >= 9) return ScaleByInput(context);
  if (context.version() >= 7) {
    const auto scales = GetFloats(node, "scales").value_or(std::vector<float>());
    return ReadOld(context, std::vector<double>(scales.begin(), scales.end()));
  }
  const auto height = GetFloat(node, "height_scale"), width = GetFloat(node, "width_scale");
  if (!height || !width) return ModelError("expected attributes height_scale and width_scale, found one or none");
  return ReadOld(context, {1, 1, *height, *width});
}

// An empty tensor of scales or sizes is none: version 11 requires scales, even beside sizes.
absl::StatusOr<Resampling> ReadResize(const KernelContext& context) {
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
    return resampling;
  }
  AMP_ASSIGN_OR_RETURN(const Policy policy, ReadChoice(context.node(), "keep_aspect_ratio_policy", kPolicies));
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, context.InputInts(kSizes));
  AMP_RETURN_IF_ERROR(SetSizes(sizes, axes, policy, resampling));
  return resampling;
}

}  // namespace amp
