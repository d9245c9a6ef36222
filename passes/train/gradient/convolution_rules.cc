// Convolutions: the gradient of what goes in is a transposed convolution, that of the weights a convolution in which
// batch and channels have changed places. Of a transposed convolution, the other way round.
//
//   y = Conv (x, w, b):     dx = ConvTranspose (g, w)    dw = ai.amp.ConvWeightGradient (x, g)    db = ReduceSum (g)
#include <numeric>

#include "ir/base/status.h"
#include "passes/train/gradient/gradient_rule.h"
#include "passes/train/gradient/windows.h"

namespace amp {
namespace {

// x [N, g C, ...] becomes [C, g N, ...]: group by group, a sample is a channel. A window of dw then slides over the
// padded x in steps of the dilations, and its weights, g as [M, N, ...], are as far apart as the strides. The last
// elements of x, of an incomplete stride, make it larger than the kernel.
constexpr AmpFunction kConvWeightGradient = {"ConvWeightGradient", R"(
<domain: "ai.amp", opset_import: ["" : 13]>
ConvWeightGradient <strides, dilations, pads, kernel_shape, group, grouped, swapped, to>
    (x, g) => (dw) {
  x_float = Cast <to: int = @to> (x)
  g_float = Cast <to: int = @to> (g)
  whole = Shape (x_float)
  zero = Constant <value_ints = [0]> ()
  one = Constant <value_ints = [1]> ()
  two = Constant <value_ints = [2]> ()
  far = Constant <value_ints = [64]> ()
  left = Constant <value_ints = [-1]> ()
  groups = Constant <value_int: int = @group> ()
  groups_1 = Reshape (groups, one)
  samples = Slice (whole, zero, one)
  space = Slice (whole, two, far)
  channels = Slice (whole, one, two)
  channels_in_group = Div (channels, groups_1)
  split_shape = Concat <axis = 0> (samples, groups_1, channels_in_group, space)
  split = Reshape (x_float, split_shape)
  turned = Transpose <perm: ints = @grouped> (split)
  turned_shape = Concat <axis = 0> (channels_in_group, left, space)
  x_turned = Reshape (turned, turned_shape)
  g_turned = Transpose <perm: ints = @swapped> (g_float)
  large = Conv <strides: ints = @dilations, dilations: ints = @strides, pads: ints = @pads, group: int = @group> (x_turned, g_turned)
  kernel = Constant <value_ints: ints = @kernel_shape> ()
  rank = Shape (kernel)
  starts = Mul (kernel, zero)
  axis_0 = Constant <value_int = 2> ()
  step = Constant <value_int = 1> ()
  num_axes = Squeeze (rank, zero)
  axes_end = Add (num_axes, axis_0)
  axes = Range (axis_0, axes_end, step)
  cut = Slice (large, starts, kernel, axes)
  dw = Transpose <perm: ints = @swapped> (cut)
})"};

// [1, 0, 2, 3] and, with the axis of groups behind the first, [2, 1, 0, 3, 4].
Axes Swapped(size_t num_spatial) {
  Axes axes(num_spatial + 2);
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[0], axes[1]);
  return axes;
}
Axes Grouped(size_t num_spatial) {
  Axes axes(num_spatial + 3);
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[0], axes[2]);
  return axes;
}

// The gradient of weights [M, C / group, ...] that multiply a window over `data` [N, C, ...] and give `results` [N, M,
// ...].
Term WeightGradient(Backward& node, const Term& data, const Term& results, const Windows& windows, DType type) {
  const DType inside = type == DType::kFloat64 ? type : DType::kFloat32;
  const Term gradient = node.write()
                            .Call(kConvWeightGradient, {data, results}, 1, inside,
                                  {{"strides", windows.strides},
                                   {"dilations", windows.dilations},
                                   {"pads", windows.Pads()},
                                   {"kernel_shape", windows.kernel},
                                   {"group", node.Int("group", 1)},
                                   {"grouped", Grouped(windows.num_axes())},
                                   {"swapped", Swapped(windows.num_axes())},
                                   {"to", inside}})
                            .front();
  return Cast(gradient, type);
}

Term BiasGradient(const Term& g, size_t num_spatial) {
  Axes axes(num_spatial + 1);
  std::iota(axes.begin(), axes.end(), 1);
  axes.front() = 0;
  return Sum(g, axes, KeepDims::kNo);
}

std::optional<Axes> KernelOf(const Backward& node) {
  const auto shape = node.Shape(node.InputId(1));
  if (!shape.has_value() || shape->size() < 3) return std::nullopt;
  return Axes(shape->begin() + 2, shape->end());
}

absl::Status Conv(Backward& node) {
  const auto kernel = KernelOf(node);
  if (!kernel.has_value()) return Backward::Refuse("the rank of its weights has to be known");
  AMP_ASSIGN_OR_RETURN(const Windows windows, WindowsOf(node, node.InputId(0), node.OutputId(), *kernel));
  const Term& g = node.Gradient();
  if (node.Wants(0)) {
    node.Give(0, SpreadWindows(node, g, node.Input(1), windows, node.Int("group", 1), node.InputId(0)));
  }
  if (node.Wants(1)) node.Give(1, WeightGradient(node, node.Input(0), g, windows, node.Input(1).dtype()));
  if (node.Wants(2)) node.Give(2, BiasGradient(g, kernel->size()));
  return absl::OkStatus();
}

// Sets the pads of the convolution that goes back: the part of the whole result that is cut off at both ends.
absl::Status ResolveTransposedPads(const Backward& node, Windows& windows) {
  const std::string mode = node.String("auto_pad", "NOTSET");
  const size_t count = windows.num_axes();
  const bool is_stated = mode == "NOTSET" && !node.Ints("output_shape").has_value();
  if (is_stated || mode == "VALID") return absl::OkStatus();  // as WindowsOf has them
  const Axes beyond = node.Ints("output_padding").value_or(Axes(count, 0));
  if (beyond.size() != count) return Backward::Refuse("attribute output_padding does not fit its kernel");
  for (size_t i = 0; i < count; ++i) {
    const int64_t in = windows.results[i], out = windows.sizes[i];  // the convolution's data is the result
    if (in == kUnknownDim || out == kUnknownDim) {
      return Backward::Refuse("auto_pad and output_shape need spatial dimensions that are known");
    }
    const int64_t pad = windows.strides[i] * (in - 1) + beyond[i] + windows.Reach(i) - out;
    if (pad < 0) return Backward::Refuse("its output_shape is larger than what its windows reach");
    windows.begin_pads[i] = mode == "SAME_UPPER" ? pad / 2 : pad - pad / 2;
    windows.end_pads[i] = pad - windows.begin_pads[i];
  }
  return absl::OkStatus();
}

absl::Status ConvTranspose(Backward& node) {
  const auto kernel = KernelOf(node);
  if (!kernel.has_value()) return Backward::Refuse("the rank of its weights has to be known");
  AMP_ASSIGN_OR_RETURN(Windows windows, WindowsOf(node, node.OutputId(), node.InputId(0), *kernel));
  AMP_RETURN_IF_ERROR(ResolveTransposedPads(node, windows));
  const Term& g = node.Gradient();
  if (node.Wants(0)) {
    node.Give(0, node.write().Op("Conv", {g, node.Input(1)},
                                 {{"strides", windows.strides},
                                  {"dilations", windows.dilations},
                                  {"pads", windows.Pads()},
                                  {"group", node.Int("group", 1)},
                                  {"kernel_shape", windows.kernel}}));
  }
  if (node.Wants(1)) node.Give(1, WeightGradient(node, g, node.Input(0), windows, node.Input(1).dtype()));
  if (node.Wants(2)) node.Give(2, BiasGradient(g, kernel->size()));
  return absl::OkStatus();
}

constexpr GradientRule kRules[] = {
    {"Conv", Conv},
    {"ConvTranspose", ConvTranspose},
};

}  // namespace

absl::Span<const GradientRule> ConvolutionRules() { return kRules; }

}  // namespace amp
