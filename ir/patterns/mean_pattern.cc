#include "ir/patterns/mean_pattern.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ir/graph/attributes.h"
#include "ir/graph/constant.h"
#include "ir/graph/shape.h"

namespace amp {
namespace {

constexpr int64_t kMostAxes = 8;

// How many elements the axes have; 0 where that is not known.
int64_t CountAlong(const Model& model, ValueId value, const std::vector<int64_t>& axes) {
  const auto shape = ShapeOf(model, value);
  if (!shape.has_value()) return 0;
  double count = 1;
  for (const int64_t axis : axes) {
    const int64_t dim = (*shape)[shape->size() - static_cast<size_t>(-axis)];
    if (dim <= 0) return 0;
    count *= static_cast<double>(dim);
  }
  return count <= 1e9 ? static_cast<int64_t>(count) : 0;
}

// Of a division by a constant, or a product with one: by what it divides.
struct Divided {
  ValueId value = kNone;
  double by = 1;
};
Divided TakeDivision(ValueId value, PatternSearch& search) {
  if (const NodeId division = search.Peek(value, "Div"); division != kNone) {
    const auto divisor = search.Scalar(search.node(division).Input(1));
    if (!divisor) return {value};
    search.Take(value, "Div");
    return {search.node(division).Input(0), *divisor};
  }
  const NodeId product = search.Peek(value, "Mul");
  const auto split = product == kNone ? std::nullopt : search.SplitScalar(product);
  if (!split) return {value};
  search.Take(value, "Mul");
  return {split->variable, 1 / split->scalar};
}

// Whether the Unsqueeze puts ones where the reduction took the axes away.
bool PutsBack(const Model& model, const Node& unsqueeze, const std::vector<int64_t>& axes) {
  auto added = GetInts(unsqueeze, "axes").value_or(std::vector<int64_t>());
  if (unsqueeze.Input(1) != kNone) {
    const auto elements = ConstantElements(model, unsqueeze.Input(1), kMostAxes);
    if (!elements) return false;
    added.assign(elements->begin(), elements->end());
  }
  const auto shape = ShapeOf(model, unsqueeze.Output(0));
  for (int64_t& axis : added) {
    if (axis >= 0 && !shape.has_value()) return false;
    if (axis >= 0) axis -= static_cast<int64_t>(shape->size());
  }
  std::sort(added.begin(), added.end());
  return added == axes;
}

// x^2: x; the node joins.
ValueId TakeSquare(ValueId value, PatternSearch& search) {
  for (const absl::string_view op_type : {"Mul", "Pow"}) {
    const NodeId square = search.Peek(value, op_type);
    const ValueId x = square == kNone ? kNone : search.Squared(square);
    if (x == kNone) continue;
    search.Take(value, op_type);
    return x;
  }
  return kNone;
}

// (mean of x)^2 off the mean of x^2.
Variance TakeDifferenceOfSquares(ValueId value, PatternSearch& search) {
  if (const NodeId bound = search.Peek(value, "Max"); bound != kNone) {
    const auto zero = search.SplitScalar(bound);
    if (!zero || zero->scalar != 0) return {};
    search.Take(value, "Max");
    value = zero->variable;
  } else if (const NodeId relu = search.Take(value, "Relu"); relu != kNone) {
    value = search.node(relu).Input(0);
  }
  const NodeId difference = search.Take(value, "Sub");
  if (difference == kNone) return {};
  const Mean of_square = TakeMean(search.node(difference).Input(0), search);
  const ValueId x = of_square.of == kNone ? kNone : TakeSquare(of_square.of, search);
  const ValueId squared = TakeSquare(search.node(difference).Input(1), search);
  const Mean mean = squared == kNone ? Mean() : TakeMean(squared, search);
  const bool fits =
      x != kNone && mean.of != kNone && search.AreSame(mean.of, x) && !mean.axes.empty() && mean.axes == of_square.axes;
  if (!fits) return {};
  return {.of = x, .axes = mean.axes};
}

}  // namespace

Mean TakeMean(ValueId value, PatternSearch& search) {
  PatternSearch attempt = search;
  const NodeId unsqueeze = attempt.Take(value, "Unsqueeze");
  const Divided divided = TakeDivision(unsqueeze == kNone ? value : search.node(unsqueeze).Input(0), attempt);
  NodeId reduction = attempt.Take(divided.value, "ReduceMean");
  if (reduction != kNone && divided.by != 1) return {};
  const bool is_sum = reduction == kNone;
  if (is_sum) reduction = attempt.Take(divided.value, "ReduceSum");
  if (reduction == kNone || (is_sum && divided.by == 1)) return {};
  Mean mean{search.node(reduction).Input(0)};
  const auto axes = search.Axes(reduction);
  if (!axes) return mean;
  const bool is_kept = GetInt(search.node(reduction), "keepdims", 1) == 1;
  if (is_kept ? unsqueeze != kNone : unsqueeze == kNone || !PutsBack(search.model(), search.node(unsqueeze), *axes)) {
    return mean;
  }
  const auto count = static_cast<double>(CountAlong(search.model(), mean.of, *axes));
  if (is_sum && !(std::abs(divided.by - count) <= 1e-5 * count)) return {};
  search = attempt;
  mean.axes = *axes;
  return mean;
}

Mean FindCentred(ValueId difference, Sign sign, const PatternSearch& search) {
  const NodeId id = search.Peek(difference, "Sub");
  if (id == kNone) return {};
  const Node& node = search.node(id);
  for (const size_t port : {size_t{1}, size_t{0}}) {
    PatternSearch attempt = search;
    Mean mean = TakeMean(node.Input(port), attempt);
    const ValueId x = node.Input(1 - port);
    if (mean.of != kNone && search.AreSame(mean.of, x)) return {x, std::move(mean.axes)};
    if (sign == Sign::kCounts) break;
  }
  return {};
}

void TakeCentred(ValueId difference, PatternSearch& search) {
  const NodeId id = search.Take(difference, "Sub");
  for (const ValueId in : search.node(id).PresentInputs()) {
    PatternSearch attempt = search;
    const Mean mean = TakeMean(in, attempt);
    const bool is_of_other = mean.of != kNone && search.AreSame(search.OtherOperand(id, in), mean.of);
    if (is_of_other) search = attempt;
  }
}

Variance TakeVariance(ValueId value, PatternSearch& search) {
  PatternSearch attempt = search;
  if (Variance found = TakeDifferenceOfSquares(value, attempt); found.of != kNone) {
    search = attempt;
    return found;
  }
  const Mean of_square = TakeMean(value, search);
  if (of_square.of == kNone) return {.why = "no mean is under the root"};
  if (of_square.axes.empty()) return {.why = "the axes of the mean under the root are not known, or not kept"};
  const ValueId squared = TakeSquare(of_square.of, search);
  if (squared == kNone) return {.why = "the mean under the root is not of a square"};
  return {.squared = squared, .axes = of_square.axes};
}

}  // namespace amp
