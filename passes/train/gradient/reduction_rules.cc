// Reductions: the gradient of a sum goes to every element that it was made of.
//
//   y = ReduceMean (x), axes 1:     dx = Expand (g with axis 1) / (how many)
#include <cmath>
#include <numeric>

#include "ir/graph/constant.h"
#include "passes/train/gradient/gradient_rule.h"

namespace amp {
namespace {

constexpr int64_t kMostAxes = 64;

// The reduced axes, seen from the front, and the gradient in a shape that broadcasts to that of x.
struct Reduction {
  std::optional<Axes> axes;  // none: all, however many they are
  Term gradient, result;
};

bool ReducesAll(const Backward& node) {
  const bool states_none = !node.Ints("axes").has_value() && !node.HasInput(1);
  return states_none && node.Int("noop_with_empty_axes", 0) == 0;
}

// Nothing where rank or axes are not known.
std::optional<Axes> ReducedAxes(const Backward& node) {
  const auto rank = node.Rank(node.InputId(0));
  if (!rank.has_value()) return std::nullopt;
  std::optional<Axes> stated = node.Ints("axes");
  if (!stated.has_value() && node.HasInput(1)) {
    const auto elements = ConstantElements(node.model(), node.InputId(1), kMostAxes);
    if (!elements.has_value()) return std::nullopt;
    stated.emplace(elements->begin(), elements->end());
  }
  if (stated.has_value() && !stated->empty()) return node.AxesFromFront(node.InputId(0), *stated);
  if (node.Int("noop_with_empty_axes", 0) != 0) return Axes();
  Axes all(static_cast<size_t>(*rank));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

absl::StatusOr<Reduction> ReductionOf(Backward& node) {
  if (ReducesAll(node)) return Reduction{std::nullopt, node.Gradient(), node.Output()};
  const auto axes = ReducedAxes(node);
  if (!axes.has_value()) return Backward::Refuse("its axes, and the rank of its operand, have to be known");
  const bool keeps = axes->empty() || node.Int("keepdims", 1) != 0;
  const auto with_axes = [&](const Term& x) { return keeps ? x : Unsqueeze(x, *axes); };
  return Reduction{axes, with_axes(node.Gradient()), with_axes(node.Output())};
}

template <Term (*Gradient)(Backward&, const Reduction&)>
absl::Status Reduce(Backward& node) {
  const absl::StatusOr<Reduction> reduction = ReductionOf(node);
  if (!reduction.ok()) return reduction.status();
  node.Give(0, Gradient(node, *reduction));
  return absl::OkStatus();
}

Term Spread(Backward& node, const Term& x) { return Expand(x, node.write().ShapeOf(node.InputId(0))); }

Term OfSum(Backward& node, const Reduction& reduction) { return Spread(node, reduction.gradient); }

Term OfMean(Backward& node, const Reduction& reduction) {
  const Term& g = reduction.gradient;
  const Term count = reduction.axes.has_value() ? node.write().CountOf(node.InputId(0), *reduction.axes, g.dtype())
                                                : node.write().SizeOf(node.InputId(0), g.dtype());
  return Spread(node, g / count);
}

Term OfSumSquare(Backward& node, const Reduction& reduction) { return reduction.gradient * (2 * node.Input(0)); }

// x / |x|, and 0 where all of x is 0.
Term OfL2(Backward& node, const Reduction& reduction) {
  const Term is_zero = IsEqual(reduction.result, node.write().Number(0, reduction.result.dtype()));
  return reduction.gradient * node.Input(0) / Where(is_zero, 1, reduction.result);
}

Term OfL1(Backward& node, const Reduction& reduction) {
  return reduction.gradient * node.write().Op("Sign", {node.Input(0)});
}

Term OfLogSum(Backward& node, const Reduction& reduction) {
  return Spread(node, reduction.gradient / Exp(reduction.result));
}

// The softmax of x. Where all are -infinity, so is the result, and their difference would be no number.
Term OfLogSumExp(Backward& node, const Reduction& reduction) {
  const Term x = node.Input(0);
  const Term is_empty = node.write().OpAs(DType::kBool, "IsInf", {reduction.result}, {{"detect_positive", int64_t{0}}});
  return reduction.gradient * Exp(x - Where(is_empty, 0, reduction.result));
}

// Elements that are equal to the result have equal shares.
Term OfExtreme(Backward& node, const Reduction& reduction) {
  const Term is_chosen = Cast(IsEqual(node.Input(0), reduction.result), reduction.gradient.dtype());
  const Term count = reduction.axes.has_value() ? Sum(is_chosen, *reduction.axes, KeepDims::kYes)
                                                : node.write().Op("ReduceSum", {is_chosen}, {{"keepdims", int64_t{0}}});
  return reduction.gradient * is_chosen / count;
}

// y_i = x_0 + ... + x_i: an element is in all sums from its own on.
absl::Status CumSum(Backward& node) {
  node.Give(0, node.write().Op("CumSum", {node.Gradient(), node.Input(1)},
                               {{"exclusive", node.Int("exclusive", 0)}, {"reverse", 1 - node.Int("reverse", 0)}}));
  return absl::OkStatus();
}

constexpr GradientRule kRules[] = {
    {"CumSum", CumSum, Port(1)},
    {"ReduceL1", Reduce<OfL1>, Port(1)},
    {"ReduceL2", Reduce<OfL2>, Port(1)},
    {"ReduceLogSum", Reduce<OfLogSum>, Port(1)},
    {"ReduceLogSumExp", Reduce<OfLogSumExp>, Port(1)},
    {"ReduceMax", Reduce<OfExtreme>, Port(1)},
    {"ReduceMean", Reduce<OfMean>, Port(1)},
    {"ReduceMin", Reduce<OfExtreme>, Port(1)},
    {"ReduceSum", Reduce<OfSum>, Port(1)},
    {"ReduceSumSquare", Reduce<OfSumSquare>, Port(1)},
};

}  // namespace

absl::Span<const GradientRule> ReductionRules() { return kRules; }

}  // namespace amp
