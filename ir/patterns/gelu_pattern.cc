#include "ir/patterns/gelu_pattern.h"

#include <cmath>
#include <numbers>

#include "ir/patterns/pattern_search.h"

namespace amp {
namespace {

// Exporters write these with four to seven digits, and what is stored in 16 bits is rounded to those.
class IsNear {
 public:
  explicit IsNear(DType stored_as)
      : tolerance_(stored_as == DType::kBfloat16  ? 0x1p-8
                   : stored_as == DType::kFloat16 ? 0x1p-11
                                                  : 1e-4) {}
  bool operator()(double value, double wanted) const { return std::abs(value - wanted) <= tolerance_ * wanted; }

 private:
  double tolerance_;
};
IsNear NearOf(const PatternSearch& search, ValueId value) { return IsNear(search.model().value(value).dtype); }

// x of x / sqrt(2).
ValueId TakeErfOperand(ValueId value, PatternSearch& search) {
  if (const NodeId division = search.Take(value, "Div"); division != kNone) {
    const auto divisor = search.Scalar(search.node(division).Input(1));
    return divisor && NearOf(search, value)(*divisor, std::numbers::sqrt2) ? search.node(division).Input(0) : kNone;
  }
  const NodeId product = search.Take(value, "Mul");
  const auto factor = product == kNone ? std::nullopt : search.SplitScalar(product);
  return factor && NearOf(search, value)(factor->scalar, 1 / std::numbers::sqrt2) ? factor->variable : kNone;
}

// x of x^3; its nodes join.
ValueId TakeCube(ValueId value, PatternSearch& search) {
  if (const NodeId power = search.Take(value, "Pow"); power != kNone) {
    return search.IsScalar(search.node(power).Input(1), 3) ? search.node(power).Input(0) : kNone;
  }
  const NodeId product = search.Take(value, "Mul");
  if (product == kNone) return kNone;
  for (const size_t port : {size_t{0}, size_t{1}}) {
    const ValueId side = search.node(product).Input(port), x = search.node(product).Input(1 - port);
    const NodeId square = search.Peek(side, "Mul");
    if (square == kNone || !search.AreSame(search.Squared(square), x)) continue;
    search.Take(side, "Mul");
    return x;
  }
  return kNone;
}

// x of sqrt(2 / pi) (x + 0.044715 x^3).
ValueId TakeTanhOperand(ValueId value, PatternSearch& search) {
  const NodeId outer = search.Take(value, "Mul");
  const auto factor = outer == kNone ? std::nullopt : search.SplitScalar(outer);
  if (!factor || !NearOf(search, value)(factor->scalar, std::sqrt(2 / std::numbers::pi))) return kNone;
  const NodeId sum = search.Take(factor->variable, "Add");
  if (sum == kNone) return kNone;
  for (const size_t port : {size_t{0}, size_t{1}}) {
    const ValueId x = search.node(sum).Input(port), term = search.node(sum).Input(1 - port);
    const NodeId cubic = search.Peek(term, "Mul");
    const auto small = cubic == kNone ? std::nullopt : search.SplitScalar(cubic);
    if (!small || !NearOf(search, value)(small->scalar, 0.044715)) continue;
    search.Take(term, "Mul");
    return search.AreSame(TakeCube(small->variable, search), x) ? x : kNone;
  }
  return kNone;
}

// From 1 + f(x) on: times x and times a half, in any order.
NodeId FollowProducts(NodeId sum, ValueId x, PatternSearch& search) {
  const NodeId first = search.OnlyReader(sum, "Mul");
  const ValueId other = first == kNone ? kNone : search.OtherOperand(first, search.node(sum).Output(0));
  if (other == kNone) return kNone;
  search.Join(first);
  if (const NodeId half = search.Peek(other, "Mul"); half != kNone) {
    const auto split = search.SplitScalar(half);
    if (split && split->scalar == 0.5 && search.AreSame(split->variable, x)) {
      search.Take(other, "Mul");
      return first;
    }
  }
  const bool was_half = search.IsScalar(other, 0.5);
  if (!was_half && !search.AreSame(other, x)) return kNone;
  const NodeId second = search.OnlyReader(first, "Mul");
  const ValueId last = second == kNone ? kNone : search.OtherOperand(second, search.node(first).Output(0));
  const bool fits = last != kNone && (was_half ? search.AreSame(last, x) : search.IsScalar(last, 0.5));
  if (!fits) return kNone;
  search.Join(second);
  return second;
}

}  // namespace

Recognised RecogniseGelu(const Model& model, NodeId anchor) {
  PatternSearch search(model);
  const bool is_erf = search.Is(anchor, "Erf");
  if (!is_erf && !search.Is(anchor, "Tanh")) return "no error function and no hyperbolic tangent";
  search.Join(anchor);
  const ValueId operand = search.node(anchor).Input(0);
  const ValueId x = is_erf ? TakeErfOperand(operand, search) : TakeTanhOperand(operand, search);
  if (x == kNone) return is_erf ? "its operand is not x / sqrt(2)" : "its operand is not that of GELU";
  const NodeId sum = search.OnlyReader(anchor, "Add");
  const auto one = sum == kNone ? std::nullopt : search.SplitScalar(sum);
  if (!one || one->scalar != 1) return "one is not added to it";
  search.Join(sum);
  const NodeId last = FollowProducts(sum, x, search);
  if (last == kNone) return "the sum is not multiplied by x and a half";
  return search.Complete({.kind = is_erf ? PatternKind::kGelu : PatternKind::kTanhGelu, .inputs = {x}}, last);
}

}  // namespace amp
