// Pools.
//
//   y = MaxPool (x):        a result's gradient goes to the element that it is
//   y = AveragePool (x):    every element of a window has its share, which is a transposed convolution with ones
//
// No rule writes a node per place in a window: a window may be of any size.
#include <numeric>

#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "passes/train/gradient/gradient_rule.h"
#include "passes/train/gradient/windows.h"

namespace amp {
namespace {

constexpr int kOpsetWithScatterAdd = 16;
constexpr int64_t kMostOnes = 1 << 20;  // of the window that is written out for AveragePool

constexpr AmpFunction kMaxPoolGradient = {"MaxPoolGradient", R"(
<domain: "ai.amp", opset_import: ["" : 16]>
MaxPoolGradient <kernel_shape, strides, dilations, pads, ceil_mode, to> (x, g) => (dx) {
  x_float = Cast <to: int = @to> (x)
  g_float = Cast <to: int = @to> (g)
  y, places = MaxPool <kernel_shape: ints = @kernel_shape, strides: ints = @strides, dilations: ints = @dilations, pads: ints = @pads,
      ceil_mode: int = @ceil_mode> (x_float)
  all = Constant <value_ints = [-1]> ()
  flat_places = Reshape (places, all)
  flat_g = Reshape (g_float, all)
  shape = Shape (x_float)
  size = Size (x_float)
  flat_shape = Reshape (size, all)
  zero = Constant <value_float = 0.0> ()
  zero_of_type = Cast <to: int = @to> (zero)
  zeros = Expand (zero_of_type, flat_shape)
  flat_dx = ScatterElements <axis = 0, reduction = "add"> (zeros, flat_places, flat_g)
  dx = Reshape (flat_dx, shape)
})"};

absl::Status MaxPool(Backward& node) {
  if (node.opset() < kOpsetWithScatterAdd) {
    return Backward::Refuse(absl::StrCat("needs opset ", kOpsetWithScatterAdd, ", the model imports ", node.opset()));
  }
  const std::optional<Axes> kernel = node.Ints("kernel_shape");
  if (!kernel.has_value()) return Backward::Refuse("the size of its kernel has to be known");
  AMP_ASSIGN_OR_RETURN(const Windows windows, WindowsOf(node, node.InputId(0), node.OutputId(), *kernel));
  const DType type = node.Input(0).dtype();
  const DType inside = type == DType::kFloat64 ? type : DType::kFloat32;
  const Term gradient = node.write()
                            .Call(kMaxPoolGradient, {node.Input(0), node.Gradient()}, 1, inside,
                                  {{"kernel_shape", *kernel},
                                   {"strides", windows.strides},
                                   {"dilations", windows.dilations},
                                   {"pads", windows.Pads()},
                                   {"ceil_mode", node.Int("ceil_mode", 0)},
                                   {"to", inside}})
                            .front();
  node.Give(0, Cast(gradient, type));
  return absl::OkStatus();
}

// Channels are samples: what is done to every channel alone needs no groups.
constexpr AmpFunction kAveragePoolGradient = {"AveragePoolGradient", R"(
<domain: "ai.amp", opset_import: ["" : 13]>
AveragePoolGradient <kernel_shape, strides, dilations, pads, output_padding, to> (g, share, shape) => (dx) {
  g_float = Cast <to: int = @to> (g)
  shares = Mul (g_float, share)
  two = Constant <value_ints = [2]> ()
  far = Constant <value_ints = [64]> ()
  shape_of_g = Shape (g_float)
  space = Slice (shape_of_g, two, far)
  of_one_channel = Constant <value_ints = [-1, 1]> ()
  samples_shape = Concat <axis = 0> (of_one_channel, space)
  samples = Reshape (shares, samples_shape)
  kernel = Constant <value_ints: ints = @kernel_shape> ()
  one_one = Constant <value_ints = [1, 1]> ()
  ones_shape = Concat <axis = 0> (one_one, kernel)
  one = Constant <value_float = 1.0> ()
  one_of_type = Cast <to: int = @to> (one)
  ones = Expand (one_of_type, ones_shape)
  spread = ConvTranspose <strides: ints = @strides, dilations: ints = @dilations, pads: ints = @pads,
      output_padding: ints = @output_padding> (samples, ones)
  dx = Reshape (spread, shape)
})"};

// [N, C, ...] as [N C, 1, ...]: what is done to every channel alone needs no groups.
Term ChannelsAsSamples(const Term& x, size_t num_spatial) {
  const Term space =
      Slice(x.writer().OpAs(DType::kInt64, "Shape", {x}), {2}, {static_cast<int64_t>(num_spatial) + 2}, {0});
  return Reshape(x, Concat({x.writer().Integers({-1, 1}), space}, 0));
}

// Windows that ceil_mode lets run over the end, as pads.
absl::Status ExtendPads(const Backward& node, Windows& windows) {
  if (node.Int("ceil_mode", 0) == 0) return absl::OkStatus();
  for (size_t i = 0; i < windows.num_axes(); ++i) {
    if (windows.sizes[i] == kUnknownDim || windows.results[i] == kUnknownDim) {
      return Backward::Refuse("ceil_mode needs spatial dimensions that are known");
    }
    const int64_t needed =
        (windows.results[i] - 1) * windows.strides[i] + windows.Reach(i) - windows.sizes[i] - windows.begin_pads[i];
    windows.end_pads[i] = std::max(windows.end_pads[i], needed);
  }
  return absl::OkStatus();
}

// 1 / (what the sum of a window is divided by), as a number or in the shape of one channel's results. How many elements
// a window has is the convolution of ones with ones; what of them is the average of ones, by the operator itself, as
// its opset means it.
Term ShareOf(Backward& node, const Windows& windows, const Term& ones) {
  const bool may_leave = windows.Pads() != Axes(2 * windows.num_axes(), 0);
  const DType type = ones.dtype();
  TermWriter& write = node.write();
  if (!may_leave) {
    double count = 1;
    for (const int64_t size : windows.kernel) count *= static_cast<double>(size);
    return write.Number(1 / count, type);
  }
  const int64_t rank = static_cast<int64_t>(windows.num_axes()) + 2;
  const Term space = Slice(write.ShapeOf(node.InputId(0)), {2}, {rank}, {0});
  const Term image = Expand(write.Number(1, type), Concat({write.Integers({1, 1}), space}, 0));
  const Term count = write.Op("Conv", {image, ones},
                              {{"strides", windows.strides},
                               {"dilations", windows.dilations},
                               {"pads", windows.Pads()},
                               {"kernel_shape", windows.kernel}});
  if (node.Int("count_include_pad", 0) == 0) return 1 / count;
  NewAttributes attributes = {
      {"kernel_shape", windows.kernel}, {"ceil_mode", node.Int("ceil_mode", 0)}, {"count_include_pad", int64_t{1}}};
  for (const absl::string_view name : {"strides", "dilations", "pads"}) {
    if (const std::optional<Axes> values = node.Ints(name)) attributes.emplace_back(name, *values);
  }
  if (HasAttribute(node.node(), "auto_pad")) attributes.emplace_back("auto_pad", node.String("auto_pad", "NOTSET"));
  const Term average = write.Op("AveragePool", {image}, attributes);
  return average / Where(count > 0, count, 1);
}

absl::Status AveragePool(Backward& node) {
  const std::optional<Axes> kernel = node.Ints("kernel_shape");
  if (!kernel.has_value()) return Backward::Refuse("the size of its kernel has to be known");
  AMP_ASSIGN_OR_RETURN(Windows windows, WindowsOf(node, node.InputId(0), node.OutputId(), *kernel));
  AMP_RETURN_IF_ERROR(ExtendPads(node, windows));
  double num_ones = 1;
  for (const int64_t size : *kernel) num_ones *= static_cast<double>(size);
  if (num_ones > kMostOnes) {
    return Backward::Refuse(absl::StrCat("its window has more than ", kMostOnes, " elements"));
  }
  TermWriter& write = node.write();
  const Term& g = node.Gradient();
  const DType inside = g.dtype() == DType::kFloat64 ? g.dtype() : DType::kFloat32;
  Axes window_shape = {1, 1};
  window_shape.insert(window_shape.end(), kernel->begin(), kernel->end());
  const auto ones = [&](DType type) { return Expand(write.Number(1, type), write.Integers(window_shape)); };
  if (const std::optional<Axes> beyond = ElementsBeyond(windows)) {
    const std::vector<Term> operands = {g, ShareOf(node, windows, ones(inside)), write.ShapeOf(node.InputId(0))};
    const Term gradient = write
                              .Call(kAveragePoolGradient, operands, 1, inside,
                                    {{"kernel_shape", *kernel},
                                     {"strides", windows.strides},
                                     {"dilations", windows.dilations},
                                     {"pads", windows.Pads()},
                                     {"output_padding", *beyond},
                                     {"to", inside}})
                              .front();
    node.Give(0, Cast(gradient, g.dtype()));
    return absl::OkStatus();
  }
  const Term window = ones(g.dtype());
  const Term shares = ChannelsAsSamples(g * ShareOf(node, windows, window), windows.num_axes());
  node.Give(0, ReshapeLike(SpreadWindows(node, shares, window, windows, 1, node.InputId(0)), node.InputId(0)));
  return absl::OkStatus();
}

std::optional<Axes> SpatialAxes(const Backward& node) {
  const auto rank = node.Rank(node.InputId(0));
  if (!rank.has_value() || *rank < 3) return std::nullopt;
  Axes axes(static_cast<size_t>(*rank - 2));
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

absl::Status GlobalAveragePool(Backward& node) {
  const auto axes = SpatialAxes(node);
  if (!axes.has_value()) return Backward::Refuse("the rank of its operand has to be known");
  const Term& g = node.Gradient();
  const Term share = g / node.write().CountOf(node.InputId(0), *axes, g.dtype());
  node.Give(0, Expand(share, node.write().ShapeOf(node.InputId(0))));
  return absl::OkStatus();
}

// Elements that are equal to the result have equal shares.
absl::Status GlobalMaxPool(Backward& node) {
  const auto axes = SpatialAxes(node);
  if (!axes.has_value()) return Backward::Refuse("the rank of its operand has to be known");
  const Term& g = node.Gradient();
  const Term is_chosen = Cast(IsEqual(node.Input(0), node.Output()), g.dtype());
  node.Give(0, g * is_chosen / Sum(is_chosen, *axes, KeepDims::kYes));
  return absl::OkStatus();
}

constexpr GradientRule kRules[] = {
    {"AveragePool", AveragePool},
    {"GlobalAveragePool", GlobalAveragePool},
    {"GlobalMaxPool", GlobalMaxPool},
    {"MaxPool", MaxPool},
};

}  // namespace

absl::Span<const GradientRule> PoolRules() { return kRules; }

}  // namespace amp
