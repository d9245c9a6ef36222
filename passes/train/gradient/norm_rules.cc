// Normalisations: y = scale * n + shift, n = (x - mean) / sqrt (variance + epsilon), over some axes.
//
//   dx = (s - mean (s) - n mean (s n)) / sqrt (variance + epsilon), s = scale * g
//   dscale = sum (g n)     dshift = sum (g)
//
// One formula for BatchNormalization that trains (over batch and space), LayerNormalization (over the last axes) and
// InstanceNormalization (over space); RMSNormalization has no mean. Each is a function of its own, with float32 inside,
// that takes the statistics again.
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "passes/train/gradient/gradient_rule.h"

namespace amp {
namespace {

constexpr absl::string_view kHead = "<domain: \"ai.amp\", opset_import: [\"\" : 13]>\n";
constexpr absl::string_view kOperands = R"( <axes, scale_axes, epsilon, to> (x, scale, g) => (dx, dscale) {
  x_float = Cast <to: int = @to> (x)
  g_float = Cast <to: int = @to> (g)
  scale_float = Cast <to: int = @to> (scale)
  over = Constant <value_ints: ints = @axes> ()
  epsilon_32 = Constant <value_float: float = @epsilon> ()
  epsilon_float = Cast <to: int = @to> (epsilon_32)
  shape = Shape (x_float)
  sizes = Gather (shape, over)
  num = ReduceProd <keepdims = 0> (sizes)
  count = Cast <to: int = @to> (num)
)";
// From `centred` to `across` = s - n mean (s n).
constexpr absl::string_view kAlongNormal = R"(
  square = Mul (centred, centred)
  sum_of_squares = ReduceSum <keepdims = 1> (square, over)
  variance = Div (sum_of_squares, count)
  safe = Add (variance, epsilon_float)
  deviation = Sqrt (safe)
  normal = Div (centred, deviation)
  product = Mul (g_float, normal)
  scale_over = Constant <value_ints: ints = @scale_axes> ()
  dscale = ReduceSum <keepdims = 0, noop_with_empty_axes = 1> (product, scale_over)
  scaled = Mul (g_float, scale_float)
  scaled_product = Mul (scaled, normal)
  product_sum = ReduceSum <keepdims = 1> (scaled_product, over)
  product_mean = Div (product_sum, count)
  along = Mul (normal, product_mean)
  across = Sub (scaled, along)
)";

// Where x is measured from: how `centred` comes of x, and dx of `across`.
struct Centre {
  absl::string_view forward, backward;
};
constexpr Centre kMean = {.forward = R"(
  sum_of_x = ReduceSum <keepdims = 1> (x_float, over)
  mean = Div (sum_of_x, count)
  centred = Sub (x_float, mean)
)",
                          .backward = R"(
  scaled_sum = ReduceSum <keepdims = 1> (scaled, over)
  scaled_mean = Div (scaled_sum, count)
  difference = Sub (across, scaled_mean)
  dx = Div (difference, deviation)
)"};
constexpr Centre kZero = {.forward = "centred = Identity (x_float)", .backward = "dx = Div (across, deviation)"};

struct NormGradient {
  absl::string_view name;
  const Centre& centre;

  std::string Text() const {
    return absl::StrCat(kHead, name, kOperands, centre.forward, kAlongNormal, centre.backward, "}");
  }
};
constexpr NormGradient kBatch = {"BatchNormalizationGradient", kMean};
constexpr NormGradient kLayer = {"LayerNormalizationGradient", kMean};
constexpr NormGradient kInstance = {"InstanceNormalizationGradient", kMean};
constexpr NormGradient kRootMeanSquare = {"RMSNormalizationGradient", kZero};

Axes AxesBetween(int64_t begin, int64_t end) {
  Axes axes(static_cast<size_t>(std::max<int64_t>(end - begin, 0)));
  std::iota(axes.begin(), axes.end(), begin);
  return axes;
}

// Gradients of x and of the scale, as [x's shape] and as what is left when `scale_axes` are summed over.
void GiveNorm(Backward& node, const NormGradient& norm, const Term& scale, const Axes& axes, const Axes& scale_axes) {
  const DType type = node.Input(0).dtype();
  const DType inside = type == DType::kFloat64 ? type : DType::kFloat32;
  const std::string text = norm.Text();
  const std::vector<Term> results =
      node.write().Call({norm.name, text}, {node.Input(0), scale, node.Gradient()}, 2, inside,
                        {{"axes", axes},
                         {"scale_axes", scale_axes},
                         {"epsilon", static_cast<float>(node.Float("epsilon", 1e-5f))},
                         {"to", inside}});
  node.Give(0, Cast(results[0], type));
  if (node.Wants(1)) node.Give(1, Cast(results[1], node.Input(1).dtype()));
}

// Vectors of one number per channel, to be broadcast to [N, C, ...].
Term PerChannel(Backward& node, const Term& vector, int64_t rank) {
  Axes shape(static_cast<size_t>(rank - 1), 1);
  shape.front() = -1;
  return node.write().Op("Reshape", {vector, node.write().Integers(shape)});
}

// All but the axis of channels.
Axes OverChannels(int64_t rank) {
  Axes axes = AxesBetween(1, rank);
  axes.front() = 0;
  return axes;
}

// With given statistics: y is linear in x.
absl::Status FrozenBatchNorm(Backward& node, int64_t rank) {
  const Term& g = node.Gradient();
  const auto per_channel = [&](size_t port) { return PerChannel(node, Cast(node.Input(port), g.dtype()), rank); };
  const Term inverse = 1 / Sqrt(per_channel(4) + node.Float("epsilon", 1e-5f));
  const auto give = [&](size_t port, const Term& whole) {
    node.Give(port, Cast(Sum(whole, OverChannels(rank), KeepDims::kNo), node.Input(port).dtype()));
  };
  const Term factor = per_channel(1) * inverse;
  if (node.Wants(0)) node.Give(0, g * factor);
  if (node.Wants(2)) give(2, g);
  if (!node.Wants(1) && !node.Wants(3) && !node.Wants(4)) return absl::OkStatus();
  const Term normal = (node.Input(0) - per_channel(3)) * inverse;
  if (node.Wants(1)) give(1, g * normal);
  if (node.Wants(3)) give(3, -(g * factor));
  if (node.Wants(4)) give(4, g * normal * factor * inverse * -0.5);
  return absl::OkStatus();
}

absl::Status BatchNormalization(Backward& node) {
  constexpr int kOpsetWithTrainingMode = 14;
  const auto rank = node.Rank(node.InputId(0));
  if (!rank.has_value() || *rank < 2) return Backward::Refuse("the rank of its operand has to be known");
  if (node.opset() < kOpsetWithTrainingMode && node.OutputId(1) != kNone) {
    return Backward::Refuse(absl::StrCat("its form that trains is of opset ", kOpsetWithTrainingMode));
  }
  if (node.Int("training_mode", 0) == 0) return FrozenBatchNorm(node, *rank);
  GiveNorm(node, kBatch, PerChannel(node, node.Input(1), *rank), OverChannels(*rank), OverChannels(*rank));
  if (node.Wants(2)) {
    node.Give(2, Cast(Sum(node.Gradient(), OverChannels(*rank), KeepDims::kNo), node.Input(2).dtype()));
  }
  return absl::OkStatus();
}

template <const NormGradient& kNorm>
absl::Status OverLastAxes(Backward& node) {
  const auto shape = node.Shape(node.InputId(0)), scale = node.Shape(node.InputId(1));
  if (!shape.has_value() || !scale.has_value()) return Backward::Refuse("the rank of its operand has to be known");
  const int64_t rank = static_cast<int64_t>(shape->size());
  const auto found = node.AxisFromFront(node.InputId(0), node.Int("axis", -1));
  if (!found.has_value()) return Backward::Refuse("its operand has no such axis");
  const int64_t axis = *found;
  if (static_cast<int64_t>(scale->size()) != rank - axis && node.Wants(1)) {
    return Backward::Refuse("its scale has to have the axes that are normalised");
  }
  GiveNorm(node, kNorm, node.Input(1), AxesBetween(axis, rank), AxesBetween(0, axis));
  if (node.Wants(2)) node.GiveBroadcast(2, node.Gradient());
  return absl::OkStatus();
}

absl::Status InstanceNormalization(Backward& node) {
  const auto rank = node.Rank(node.InputId(0));
  if (!rank.has_value() || *rank < 3) return Backward::Refuse("the rank of its operand has to be known");
  GiveNorm(node, kInstance, PerChannel(node, node.Input(1), *rank), AxesBetween(2, *rank), OverChannels(*rank));
  if (node.Wants(2)) node.Give(2, Sum(node.Gradient(), OverChannels(*rank), KeepDims::kNo));
  return absl::OkStatus();
}

constexpr GradientRule kRules[] = {
    {"BatchNormalization", BatchNormalization},
    {"InstanceNormalization", InstanceNormalization},
    {"LayerNormalization", OverLastAxes<kLayer>},
    {"RMSNormalization", OverLastAxes<kRootMeanSquare>},
};

}  // namespace

absl::Span<const GradientRule> NormRules() { return kRules; }

}  // namespace amp
