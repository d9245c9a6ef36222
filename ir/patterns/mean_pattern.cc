#include "ir/patterns/mean_pattern.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "ir/graph/attributes.h"
#include "ir/graph/constant.h"
#include "ir/graph/shape.h"
#include "ir/patterns/count_pattern.h"

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

// A division by a constant, a product with one, or a sum divided by anything, and its divisor.
struct Divided {
  ValueId value = kNone;
  double by = 1;
  ValueId by_count = kNone;  // instead
};
Divided TakeDivision(ValueId value, PatternSearch& search) {
  if (const NodeId division = search.Peek(value, "Div"); division != kNone) {
    const Node& node = search.node(division);
    const auto divisor = search.Scalar(node.Input(1));
    if (!divisor && search.Peek(node.Input(0), "ReduceSum") == kNone) return {value};
    search.Take(value, "Div");
    return {node.Input(0), divisor.value_or(1), divisor ? ValueId(kNone) : node.Input(1)};
  }
  const NodeId product = search.Peek(value, "Mul");
  const auto split = product == kNone ? std::nullopt : search.SplitScalar(product);
  if (!split) return {value};
  search.Take(value, "Mul");
  return {split->variable, 1 / split->scalar};
}

// An Unsqueeze or a Reshape, which joins.
NodeId TakeReshaping(ValueId value, PatternSearch& search) {
  const NodeId unsqueeze = search.Take(value, "Unsqueeze");
  return unsqueeze == kNone ? search.Take(value, "Reshape") : unsqueeze;
}

// Whether `shape` is that of x but for ones along the axes. One dimension may be unknown in both: a Reshape keeps the
// number of elements.
bool HasOnesAlong(const std::vector<int64_t>& shape, const std::vector<int64_t>& x, const std::vector<int64_t>& axes) {
  if (shape.size() != x.size()) return false;
  int num_unknown = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t axis = static_cast<int64_t>(i) - static_cast<int64_t>(x.size());
    const bool is_one = std::find(axes.begin(), axes.end(), axis) != axes.end();
    if (shape[i] != (is_one ? 1 : x[i])) return false;
    if (shape[i] < 0) ++num_unknown;
  }
  return num_unknown < 2;
}

// Whether an Unsqueeze or a Reshape puts ones where a reduction of x took the axes away.
bool PutsBack(const Model& model, NodeId reshaping, ValueId x, const std::vector<int64_t>& axes) {
  const Node& unsqueeze = model.node(reshaping);
  if (unsqueeze.op_type() == "Reshape") {
    const auto after = ShapeOf(model, unsqueeze.Output(0)), of_x = ShapeOf(model, x);
    return after && of_x && HasOnesAlong(*after, *of_x, axes);
  }
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

// Whether value is what `of`, a square of differences or something else, has the shape of.
bool IsSubject(ValueId value, ValueId of, const PatternSearch& search) {
  PatternSearch attempt = search;
  const ValueId squared = TakeSquare(of, attempt);
  const Mean centred = squared == kNone ? Mean() : FindCentred(squared, Sign::kDoesNotCount, search);
  const auto is_value = [&](ValueId subject) { return subject != kNone && search.AreSame(value, subject); };
  return is_value(of) || is_value(squared) || is_value(centred.of);
}

enum class Axes { kKept, kDropped };  // by reductions

// A mean of which nobody asked yet whether it broadcasts over what it is of; its nodes join.
struct Reduced {
  Mean mean;
  bool keeps_axes = false;
};
std::optional<Reduced> TakeReduction(ValueId value, PatternSearch& search) {
  const Divided divided = TakeDivision(value, search);
  NodeId reduction = search.Take(divided.value, "ReduceMean");
  const bool is_divided = divided.by != 1 || divided.by_count != kNone;
  const bool is_sum = reduction == kNone;
  if (is_sum) reduction = search.Take(divided.value, "ReduceSum");
  if (reduction == kNone || is_sum != is_divided) return std::nullopt;
  Reduced found{Mean{search.node(reduction).Input(0)}, GetInt(search.node(reduction), "keepdims", 1) == 1};
  const auto axes = search.Axes(reduction);
  if (!axes) return found;
  if (divided.by_count != kNone) {
    const auto is_subject = [&](ValueId of) { return IsSubject(of, found.mean.of, search); };
    if (!CountsAlong(divided.by_count, *axes, is_subject, search)) return std::nullopt;
  } else if (is_sum) {
    const auto count = static_cast<double>(CountAlong(search.model(), found.mean.of, *axes));
    if (!(std::abs(divided.by - count) <= 1e-5 * count)) return std::nullopt;
  }
  found.mean.axes = *axes;
  return found;
}

// Takes a mean of x. Its nodes join the pattern if it has axes.
Mean TakeMean(ValueId value, Axes wanted, PatternSearch& search) {
  PatternSearch attempt = search;
  value = attempt.TakeExpanded(value);
  const NodeId reshaping = wanted == Axes::kKept ? TakeReshaping(value, attempt) : NodeId(kNone);
  const auto found = TakeReduction(reshaping == kNone ? value : search.node(reshaping).Input(0), attempt);
  if (!found) return {};
  const Mean& mean = found->mean;
  const bool is_kept = reshaping == kNone
                           ? found->keeps_axes
                           : !found->keeps_axes && PutsBack(search.model(), reshaping, mean.of, mean.axes);
  if (mean.axes.empty() || is_kept != (wanted == Axes::kKept)) return {mean.of};
  search = std::move(attempt);
  return mean;
}

// (mean of x)^2 off the mean of x^2.
Variance TakeDifferenceOfSquares(ValueId value, Axes wanted, PatternSearch& search) {
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
  const Mean of_square = TakeMean(search.node(difference).Input(0), wanted, search);
  const ValueId x = of_square.of == kNone ? kNone : TakeSquare(of_square.of, search);
  const ValueId squared = TakeSquare(search.node(difference).Input(1), search);
  const Mean mean = squared == kNone ? Mean() : TakeMean(squared, wanted, search);
  const bool fits =
      x != kNone && mean.of != kNone && search.AreSame(mean.of, x) && !mean.axes.empty() && mean.axes == of_square.axes;
  if (!fits) return {};
  return {.of = x, .axes = mean.axes};
}

}  // namespace

Mean TakeMean(ValueId value, PatternSearch& search) { return TakeMean(value, Axes::kKept, search); }

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
  if (Variance found = TakeDifferenceOfSquares(attempt.TakeExpanded(value), Axes::kKept, attempt); found.of != kNone) {
    search = std::move(attempt);
    return found;
  }
  attempt = search;
  if (const NodeId reshaping = TakeReshaping(attempt.TakeExpanded(value), attempt); reshaping != kNone) {
    Variance found = TakeDifferenceOfSquares(search.node(reshaping).Input(0), Axes::kDropped, attempt);
    if (found.of != kNone && PutsBack(search.model(), reshaping, found.of, found.axes)) {
      search = std::move(attempt);
      return found;
    }
  }
  const Mean of_square = TakeMean(value, search);
  if (of_square.of == kNone) return {.why = "no mean is under the root"};
  if (of_square.axes.empty()) return {.why = "the axes of the mean under the root are not known, or not kept"};
  const ValueId squared = TakeSquare(of_square.of, search);
  if (squared == kNone) return {.why = "the mean under the root is not of a square"};
  return {.squared = squared, .axes = of_square.axes};
}

}  // namespace amp
