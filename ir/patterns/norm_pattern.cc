#include "ir/patterns/norm_pattern.h"

#include <algorithm>
#include <utility>

#include "ir/graph/shape.h"

namespace amp {
namespace {

// The value under a root that divides; its nodes join.
ValueId TakeRoot(ValueId value, PatternSearch& search) {
  if (const NodeId root = search.Take(value, "Sqrt"); root != kNone) return search.node(root).Input(0);
  const NodeId power = search.Peek(value, "Pow");
  if (power == kNone || !search.IsScalar(search.node(power).Input(1), 0.5)) return kNone;
  search.Take(value, "Pow");
  return search.node(power).Input(0);
}

// The same of a root whose inverse multiplies.
ValueId TakeInverseRoot(ValueId value, PatternSearch& search) {
  if (const NodeId inverse = search.Take(value, "Reciprocal"); inverse != kNone) {
    return TakeRoot(search.node(inverse).Input(0), search);
  }
  const NodeId division = search.Peek(value, "Div");
  if (division != kNone && search.IsScalar(search.node(division).Input(0), 1)) {
    search.Take(value, "Div");
    return TakeRoot(search.node(division).Input(1), search);
  }
  const NodeId power = search.Peek(value, "Pow");
  if (power == kNone || !search.IsScalar(search.node(power).Input(1), -0.5)) return kNone;
  search.Take(value, "Pow");
  return search.node(power).Input(0);
}

struct Quotient {
  ValueId numerator = kNone, under_root = kNone;
};

Quotient TakeQuotient(NodeId anchor, PatternSearch& search) {
  const Node& node = search.node(anchor);
  if (search.Is(anchor, "Div")) return {node.Input(0), TakeRoot(node.Input(1), search)};
  if (!search.Is(anchor, "Mul")) return {};
  for (const size_t port : {size_t{1}, size_t{0}}) {
    PatternSearch attempt = search;
    const ValueId under_root = TakeInverseRoot(node.Input(port), attempt);
    if (under_root == kNone) continue;
    search = attempt;
    return {node.Input(1 - port), under_root};
  }
  return {};
}

struct Centred {
  ValueId x = kNone;
  NodeId mean = kNone;
};

// Sub(x, ReduceMean(x)), or the other way round where the sign does not count.
enum class Sign { kCounts, kDoesNotCount };
Centred FindCentred(ValueId value, Sign sign, const PatternSearch& search) {
  const NodeId difference = search.Peek(value, "Sub");
  if (difference == kNone) return {};
  const Node& node = search.node(difference);
  for (const size_t port : {size_t{1}, size_t{0}}) {
    const NodeId mean = search.Peek(node.Input(port), "ReduceMean");
    const bool fits = mean != kNone && search.AreSame(search.node(mean).Input(0), node.Input(1 - port));
    if (fits) return {node.Input(1 - port), mean};
    if (sign == Sign::kCounts) break;
  }
  return {};
}

void TakeCentred(ValueId value, const Centred& centred, PatternSearch& search) {
  const NodeId difference = search.Take(value, "Sub");
  const Node& node = search.node(difference);
  for (const ValueId in : node.PresentInputs()) {
    if (search.Peek(in, "ReduceMean") == centred.mean) search.Take(in, "ReduceMean");
  }
}

bool AreLast(const std::vector<int64_t>& axes) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != static_cast<int64_t>(i) - static_cast<int64_t>(axes.size())) return false;
  }
  return true;
}

// Whether the value's shape is that of the last `count` dimensions of x.
bool FitsLast(const Model& model, ValueId value, ValueId x, size_t count) {
  const auto shape = ShapeOf(model, value), of_x = ShapeOf(model, x);
  if (!shape.has_value() || !of_x.has_value() || shape->size() != count || of_x->size() < count) return false;
  return std::equal(shape->begin(), shape->end(), of_x->end() - static_cast<std::ptrdiff_t>(count),
                    [](int64_t a, int64_t b) { return a == b && a > 0; });
}

}  // namespace

bool IsPerChannel(const Model& model, ValueId value, ValueId x) {
  const auto shape = ShapeOf(model, value), of_x = ShapeOf(model, x);
  if (!shape.has_value() || !of_x.has_value() || of_x->size() < 3) return false;
  const size_t channels = shape->size() + 1 - std::min(of_x->size(), shape->size() + 1);
  if (shape->size() + 1 < of_x->size() || shape->size() > of_x->size()) return false;
  for (size_t i = 0; i < shape->size(); ++i) {
    const int64_t wanted = i == channels ? (*of_x)[1] : 1;
    if ((*shape)[i] != wanted || wanted <= 0) return false;
  }
  return true;
}

FoundNormalisation FindNormalisation(NodeId anchor, PatternSearch& search) {
  const Quotient quotient = TakeQuotient(anchor, search);
  if (quotient.under_root == kNone) {
    const bool has_epsilon_outside =
        search.Is(anchor, "Div") && search.Peek(search.node(anchor).Input(1), "Add") != kNone;
    return {{}, has_epsilon_outside ? "what divides is a sum, no root" : "it divides by no root"};
  }
  const NodeId sum = search.Take(quotient.under_root, "Add");
  if (sum == kNone) return {{}, "no epsilon is added under the root"};
  const auto epsilon = search.SplitScalar(sum);
  if (!epsilon.has_value()) return {{}, "no constant is added under the root"};
  if (!(epsilon->scalar > 0)) return {{}, "its epsilon is not above zero"};
  const NodeId variance = search.Take(epsilon->variable, "ReduceMean");
  if (variance == kNone) return {{}, "no mean is under the root"};
  const auto axes = search.KeptAxes(variance);
  if (!axes.has_value()) return {{}, "the axes of the mean under the root are not known, or not kept"};
  const ValueId under_mean = search.node(variance).Input(0);
  NodeId square = search.Peek(under_mean, "Mul");
  if (square == kNone) square = search.Peek(under_mean, "Pow");
  const ValueId squared = square == kNone ? kNone : search.Squared(square);
  if (squared == kNone) return {{}, "the mean under the root is not of a square"};
  search.Take(under_mean, search.node(square).op_type());

  Normalisation found{.x = quotient.numerator, .axes = *axes, .epsilon = epsilon->scalar};
  const Centred centred = FindCentred(quotient.numerator, Sign::kCounts, search);
  const Centred under_square = FindCentred(squared, Sign::kDoesNotCount, search);
  const bool is_one_difference = centred.x != kNone && under_square.x != kNone &&
                                 search.AreSame(centred.x, under_square.x) && centred.mean == under_square.mean;
  if (is_one_difference) {
    if (search.KeptAxes(centred.mean) != axes) return {{}, "mean and variance are taken over different axes"};
    TakeCentred(quotient.numerator, centred, search);
    TakeCentred(squared, under_square, search);
    found.x = centred.x;
    found.is_centred = true;
  } else if (!search.AreSame(squared, quotient.numerator)) {
    return {{}, "what is squared is not what is divided"};
  }
  search.Join(anchor);
  return {std::move(found)};
}

ScaleAndShift FindScaleAndShift(NodeId from, WithShift with_shift, PatternSearch& search,
                                const std::function<bool(ValueId)>& fits) {
  ScaleAndShift found{.last = from};
  const auto follow = [&](absl::string_view op_type, ValueId& operand) {
    const NodeId reader = search.OnlyReader(found.last, op_type);
    const ValueId other = reader == kNone ? kNone : search.OtherOperand(reader, search.node(found.last).Output(0));
    if (other == kNone || !fits(other)) return false;
    operand = other;
    search.Join(reader);
    found.last = reader;
    return true;
  };
  const bool is_scaled = follow("Mul", found.scale);
  if (is_scaled && with_shift == WithShift::kYes) follow("Add", found.shift);
  return found;
}

Recognised RecogniseNorm(const Model& model, NodeId anchor) {
  PatternSearch search(model);
  if (!search.Is(anchor, "Div") && !search.Is(anchor, "Mul")) return "no division and no product";
  const FoundNormalisation found = FindNormalisation(anchor, search);
  if (!found.normalisation) return found.why;
  const Normalisation& norm = *found.normalisation;
  if (!AreLast(norm.axes)) return "its axes are not the last ones";

  Pattern pattern{.kind = norm.is_centred ? PatternKind::kLayerNorm : PatternKind::kRmsNorm};
  pattern.axes = norm.axes;
  pattern.epsilon = norm.epsilon;
  const WithShift with_shift = norm.is_centred ? WithShift::kYes : WithShift::kNo;
  const auto shape = ShapeOf(model, norm.x);
  const bool is_spatial = norm.is_centred && shape.has_value() && norm.axes.size() + 2 == shape->size();
  ScaleAndShift scaled = FindScaleAndShift(anchor, with_shift, search,
                                           [&](ValueId v) { return FitsLast(model, v, norm.x, norm.axes.size()); });
  if (scaled.scale == kNone && is_spatial) {
    scaled = FindScaleAndShift(anchor, with_shift, search, [&](ValueId v) { return IsPerChannel(model, v, norm.x); });
    if (scaled.scale != kNone) pattern.kind = PatternKind::kInstanceNorm;
  }
  pattern.inputs = {norm.x, scaled.scale};
  if (norm.is_centred) pattern.inputs.push_back(scaled.shift);
  return search.Complete(std::move(pattern), scaled.last);
}

}  // namespace amp
