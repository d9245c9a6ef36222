#include "ir/patterns/norm_pattern.h"

#include <algorithm>
#include <utility>

#include "ir/graph/shape.h"
#include "ir/patterns/mean_pattern.h"

namespace amp {
namespace {

// The value under a root that divides; its nodes join.
ValueId TakeRoot(ValueId value, PatternSearch& search) {
  value = search.TakeExpanded(value);
  if (const NodeId root = search.Take(value, "Sqrt"); root != kNone) return search.node(root).Input(0);
  const NodeId power = search.Peek(value, "Pow");
  if (power == kNone || !search.IsScalar(search.node(power).Input(1), 0.5)) return kNone;
  search.Take(value, "Pow");
  return search.node(power).Input(0);
}

// Takes a root whose inverse multiplies.
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

// The inverse of a root, perhaps multiplied by a scale; its nodes join.
struct InverseRoot {
  ValueId under_root = kNone, scale = kNone;
};
InverseRoot TakeScaledInverseRoot(ValueId value, PatternSearch& search) {
  PatternSearch start = search;
  value = start.TakeExpanded(value);
  PatternSearch attempt = start;
  if (const ValueId under_root = TakeInverseRoot(value, attempt); under_root != kNone) {
    search = std::move(attempt);
    return {under_root};
  }
  const NodeId product = search.Peek(value, "Mul");
  if (product == kNone) return {};
  const Node& node = search.node(product);
  for (const size_t port : {size_t{0}, size_t{1}}) {
    attempt = start;
    const ValueId under_root = TakeInverseRoot(attempt.TakeExpanded(node.Input(port)), attempt);
    if (under_root == kNone) continue;
    attempt.Take(value, "Mul");
    search = std::move(attempt);
    return {under_root, node.Input(1 - port)};
  }
  return {};
}

struct Quotient {
  ValueId numerator = kNone;
  InverseRoot inverse;
  ValueId mean = kNone, shift = kNone;  // of one that is spread: see TakeSpread
};

Quotient TakeProduct(NodeId product, PatternSearch& search) {
  const Node& node = search.node(product);
  for (const size_t port : {size_t{1}, size_t{0}}) {
    PatternSearch attempt = search;
    const InverseRoot inverse = TakeScaledInverseRoot(node.Input(port), attempt);
    if (inverse.under_root == kNone) continue;
    search = std::move(attempt);
    return {node.Input(1 - port), inverse};
  }
  return {};
}

// m of -(m * factor); the nodes join.
ValueId TakeNegatedProduct(ValueId value, ValueId factor, PatternSearch& search) {
  const NodeId outer = search.Take(value, "Neg");
  const NodeId product = search.Take(outer == kNone ? value : search.node(outer).Input(0), "Mul");
  const ValueId other = product == kNone ? kNone : search.OtherOperand(product, factor);
  if (outer != kNone || other == kNone) return other;
  const NodeId inner = search.Take(other, "Neg");
  return inner == kNone ? kNone : search.node(inner).Input(0);
}

// m and shift of shift - m * factor.
struct Offset {
  ValueId mean = kNone, shift = kNone;
};
Offset TakeOffset(ValueId value, ValueId factor, PatternSearch& search) {
  if (const NodeId difference = search.Take(value, "Sub"); difference != kNone) {
    const NodeId product = search.Take(search.node(difference).Input(1), "Mul");
    if (product == kNone) return {};
    return {search.OtherOperand(product, factor), search.node(difference).Input(0)};
  }
  if (const NodeId sum = search.Take(value, "Add"); sum != kNone) {
    for (const size_t port : {size_t{0}, size_t{1}}) {
      PatternSearch attempt = search;
      const ValueId mean = TakeNegatedProduct(search.node(sum).Input(port), factor, attempt);
      if (mean == kNone) continue;
      search = std::move(attempt);
      return {mean, search.node(sum).Input(1 - port)};
    }
    return {};
  }
  return {TakeNegatedProduct(value, factor, search)};
}

// x * s + (shift - mean * s), s the inverse root with or without a scale.
Quotient TakeSpread(NodeId sum, PatternSearch& search) {
  const Node& node = search.node(sum);
  for (const size_t port : {size_t{0}, size_t{1}}) {
    const NodeId product = search.Peek(node.Input(port), "Mul");
    if (product == kNone) continue;
    for (const size_t factor : {size_t{1}, size_t{0}}) {
      PatternSearch attempt = search;
      const ValueId inverse_root = search.node(product).Input(factor);
      const InverseRoot inverse = TakeScaledInverseRoot(inverse_root, attempt);
      if (inverse.under_root == kNone) continue;
      const Offset offset = TakeOffset(node.Input(1 - port), inverse_root, attempt);
      if (offset.mean == kNone) continue;
      attempt.Take(node.Input(port), "Mul");
      search = std::move(attempt);
      return {search.node(product).Input(1 - factor), inverse, offset.mean, offset.shift};
    }
  }
  return {};
}

Quotient TakeQuotient(NodeId anchor, PatternSearch& search) {
  const Node& node = search.node(anchor);
  if (search.Is(anchor, "Div")) return {node.Input(0), {TakeRoot(node.Input(1), search)}};
  if (search.Is(anchor, "Mul")) return TakeProduct(anchor, search);
  return search.Is(anchor, "Add") ? TakeSpread(anchor, search) : Quotient();
}

// The common input of the numerator and the variance, if they fit together; the nodes between join.
struct Subject {
  ValueId x = kNone;
  bool is_centred = false;
  Reason why = Reason::None();
};
Subject TakeSubject(const Quotient& quotient, const Variance& variance, PatternSearch& search) {
  Mean varied{variance.of, variance.axes};
  if (variance.of == kNone) varied = FindCentred(variance.squared, Sign::kDoesNotCount, search);
  Mean mean;
  if (quotient.mean == kNone) {
    mean = FindCentred(quotient.numerator, Sign::kCounts, search);
  } else {
    mean = TakeMean(quotient.mean, search);
    if (mean.of != kNone && !search.AreSame(mean.of, quotient.numerator)) mean = {};
  }
  const bool is_centred = mean.of != kNone && varied.of != kNone && search.AreSame(mean.of, varied.of);
  if (!is_centred) {
    const bool is_rms =
        variance.of == kNone && quotient.mean == kNone && search.AreSame(variance.squared, quotient.numerator);
    if (!is_rms) return {.why = "what is squared is not what is divided"};
    return {quotient.numerator};
  }
  if (mean.axes != variance.axes || varied.axes != variance.axes) {
    return {.why = "mean and variance are taken over different axes"};
  }
  if (quotient.mean == kNone) TakeCentred(quotient.numerator, search);
  if (variance.of == kNone) TakeCentred(variance.squared, search);
  return {mean.of, true};
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
  if (quotient.inverse.under_root == kNone) {
    const bool has_epsilon_outside =
        search.Is(anchor, "Div") && search.Peek(search.node(anchor).Input(1), "Add") != kNone;
    return {{}, has_epsilon_outside ? "what divides is a sum, no root" : "it divides by no root"};
  }
  const NodeId sum = search.Take(quotient.inverse.under_root, "Add");
  if (sum == kNone) return {{}, "no epsilon is added under the root"};
  const auto epsilon = search.SplitScalar(sum);
  if (!epsilon.has_value()) return {{}, "no constant is added under the root"};
  if (!(epsilon->scalar > 0)) return {{}, "its epsilon is not above zero"};
  const Variance variance = TakeVariance(epsilon->variable, search);
  if (variance.why) return {{}, variance.why};
  const Subject subject = TakeSubject(quotient, variance, search);
  if (subject.why) return {{}, subject.why};
  if (search.Widens(subject.x)) return {{}, "what is expanded may be larger than what is divided"};
  search.Join(anchor);
  return {Normalisation{.x = subject.x,
                        .axes = variance.axes,
                        .epsilon = epsilon->scalar,
                        .is_centred = subject.is_centred,
                        .scale = quotient.inverse.scale,
                        .shift = quotient.shift}};
}

ScaleAndShift FindScaleAndShift(ScaleAndShift found, WithShift with_shift, PatternSearch& search,
                                const std::function<bool(ValueId)>& fits) {
  const auto follow = [&](absl::string_view op_type, ValueId& operand) {
    const NodeId reader = search.OnlyReader(found.last, op_type);
    const ValueId other = reader == kNone ? kNone : search.OtherOperand(reader, search.node(found.last).Output(0));
    if (other == kNone || !fits(other)) return;
    operand = other;
    search.Join(reader);
    found.last = reader;
  };
  if (found.shift != kNone) return found;
  if (found.scale == kNone) follow("Mul", found.scale);
  if (found.scale != kNone && with_shift == WithShift::kYes) follow("Add", found.shift);
  return found;
}

Recognised RecogniseNorm(const Model& model, NodeId anchor) {
  PatternSearch search(model);
  if (!search.Is(anchor, "Div") && !search.Is(anchor, "Mul") && !search.Is(anchor, "Add")) {
    return "no division, no product and no sum";
  }
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
  const ScaleAndShift inside{norm.scale, norm.shift, anchor};
  const auto fits_last = [&](ValueId v) { return FitsLast(model, v, norm.x, norm.axes.size()); };
  const auto is_per_channel = [&](ValueId v) { return IsPerChannel(model, v, norm.x); };
  const auto fit = [&](const std::function<bool(ValueId)>& fits) {
    return (norm.scale == kNone || fits(norm.scale)) && (norm.shift == kNone || fits(norm.shift));
  };
  ScaleAndShift scaled = inside;
  if (fit(fits_last)) scaled = FindScaleAndShift(inside, with_shift, search, fits_last);
  const bool has_none = scaled.scale == kNone && scaled.shift == kNone;
  if (is_spatial && (has_none || !fit(fits_last)) && fit(is_per_channel)) {
    scaled = FindScaleAndShift(inside, with_shift, search, is_per_channel);
    if (scaled.scale != kNone || scaled.shift != kNone) pattern.kind = PatternKind::kInstanceNorm;
  } else if (!fit(fits_last)) {
    return "its scale or shift has another shape";
  }
  pattern.inputs = {norm.x, scaled.scale};
  if (norm.is_centred) pattern.inputs.push_back(scaled.shift);
  return search.Complete(std::move(pattern), scaled.last);
}

}  // namespace amp
