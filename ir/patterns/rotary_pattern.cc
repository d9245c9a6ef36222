#include "ir/patterns/rotary_pattern.h"

#include <algorithm>
#include <utility>

#include "ir/graph/attributes.h"
#include "ir/graph/constant.h"
#include "ir/graph/shape.h"
#include "ir/patterns/axis_part.h"
#include "ir/patterns/pattern_search.h"

namespace amp {
namespace {

using Pairs = RotaryForm::Pairs;

// ----- parts put together

// The operands of a Concat of two along the last axis; those of the Unsqueezes before it, where both have one.
struct Joined {
  ValueId first = kNone, second = kNone;
  bool is_stacked = false;
};
std::optional<Joined> TakeJoined(NodeId concat, PatternSearch& search) {
  const Model& model = search.model();
  const Node& node = search.node(concat);
  if (node.inputs.size() != 2 || !IsLastAxis(model, GetInt(node, "axis", 1), node.Output(0))) return std::nullopt;
  search.Join(concat);
  Joined joined{node.Input(0), node.Input(1)};
  const auto unstack = [&](ValueId value) {
    const NodeId unsqueeze = search.Peek(value, "Unsqueeze");
    if (unsqueeze == kNone) return ValueId(kNone);
    const Node& added = search.node(unsqueeze);
    const auto axis = OnlyAxis(search, added);
    return axis && IsLastAxis(model, *axis, added.Input(0), 1) ? added.Input(0) : ValueId(kNone);
  };
  const ValueId first = unstack(joined.first), second = unstack(joined.second);
  if (first == kNone || second == kNone) return joined;
  search.Take(joined.first, "Unsqueeze");
  search.Take(joined.second, "Unsqueeze");
  return Joined{first, second, true};
}

bool HasShape(const Model& model, ValueId value, ValueId wanted) {
  const auto shape = ShapeOf(model, value), other = ShapeOf(model, wanted);
  return shape.has_value() && shape == other &&
         std::all_of(shape->begin(), shape->end(), [](int64_t dim) { return dim > 0; });
}

// Whether the reshape of pairs [..., size / 2, 2] gives x's shape again.
bool Flattens(NodeId reshape, ValueId x, const PatternSearch& search) {
  const Model& model = search.model();
  const Node& node = search.node(reshape);
  if (HasShape(model, node.Output(0), x)) return true;
  const NodeId shape = search.Peek(node.Input(1), "Shape");
  if (shape != kNone && search.AreSame(search.node(shape).Input(0), x)) {
    return !HasAttribute(search.node(shape), "start") && !HasAttribute(search.node(shape), "end");
  }
  // [0, ..., 0, -1] with as many numbers as x has dimensions.
  const auto dims = ConstantElements(model, node.Input(1), 8);
  const auto of_x = ShapeOf(model, x);
  if (!dims || dims->empty() || !of_x.has_value() || dims->size() != of_x->size()) return false;
  return GetInt(node, "allowzero", 0) == 0 && dims->back() == -1 &&
         std::all_of(dims->begin(), dims->end() - 1, [](double dim) { return dim == 0; });
}

// ----- the two ways to write it

struct Turned {
  ValueId x = kNone, cosines = kNone, sines = kNone;
  RotaryForm form;
  NodeId last = kNone;
};
struct FoundTurned {
  std::optional<Turned> turned;
  Reason why = Reason::None();
};

// x of Neg(x), or of x * -1.
ValueId TakeNegated(ValueId value, PatternSearch& search) {
  if (const NodeId negation = search.Take(value, "Neg"); negation != kNone) return search.node(negation).Input(0);
  const NodeId product = search.Peek(value, "Mul");
  const auto split = product == kNone ? std::nullopt : search.SplitScalar(product);
  if (!split || split->scalar != -1) return kNone;
  search.Take(value, "Mul");
  return split->variable;
}

// The second half, negated, before the first; or that of every pair.
std::optional<Part> TakeRotated(ValueId value, PatternSearch& search) {
  const NodeId reshape = search.Take(value, "Reshape");
  const NodeId concat = search.Take(reshape == kNone ? value : search.node(reshape).Input(0), "Concat");
  const auto joined = concat == kNone ? std::nullopt : TakeJoined(concat, search);
  if (!joined || joined->is_stacked != (reshape != kNone)) return std::nullopt;
  const ValueId negated = TakeNegated(joined->first, search);
  const auto second = negated == kNone ? std::nullopt : TakePart(negated, search);
  const auto first = second ? TakePart(joined->second, search) : std::nullopt;
  const bool fits = first && first->side == Side::kFirst && second->side == Side::kSecond &&
                    first->pairs == second->pairs && search.AreSame(first->x, second->x);
  if (!fits || first->pairs != (joined->is_stacked ? Pairs::kInterleaved : Pairs::kHalves)) return std::nullopt;
  if (reshape != kNone && !Flattens(reshape, first->x, search)) return std::nullopt;
  return first;
}

FoundTurned FindSum(NodeId sum, PatternSearch& search) {
  const Node& node = search.node(sum);
  for (const size_t port : {size_t{1}, size_t{0}}) {
    for (const size_t factor : {size_t{0}, size_t{1}}) {
      PatternSearch attempt = search;
      const NodeId with_sines = attempt.Take(node.Input(port), "Mul");
      if (with_sines == kNone) break;
      const auto rotated = TakeRotated(attempt.node(with_sines).Input(factor), attempt);
      if (!rotated) continue;
      const NodeId with_cosines = attempt.Take(node.Input(1 - port), "Mul");
      if (with_cosines == kNone) return {{}, "the other summand is no product"};
      const ValueId cosines = attempt.OtherOperand(with_cosines, rotated->x);
      if (cosines == kNone) return {{}, "the other summand is not of what is rotated"};
      attempt.Join(sum);
      search = std::move(attempt);
      const ValueId sines = search.node(with_sines).Input(1 - factor);
      return {Turned{rotated->x, cosines, sines, {.pairs = rotated->pairs, .has_whole_angles = true}, sum}};
    }
  }
  return {{}, "no summand is a product with the second half, negated, ahead of the first"};
}

// A part of x, and what it is multiplied by.
struct Term {
  Part part;
  ValueId factor = kNone;
};
std::optional<Term> TakeTerm(ValueId value, Side side, PatternSearch& search) {
  const NodeId product = search.Take(value, "Mul");
  if (product == kNone) return std::nullopt;
  for (const size_t port : {size_t{0}, size_t{1}}) {
    PatternSearch attempt = search;
    const auto part = TakePart(search.node(product).Input(port), attempt);
    if (!part || part->side != side) continue;
    search = std::move(attempt);
    return Term{*part, search.node(product).Input(1 - port)};
  }
  return std::nullopt;
}

struct TermPair {
  Term first, second;  // with the first and the second part of x
};
std::optional<TermPair> TakeTerms(NodeId sum, bool may_exchange, PatternSearch& search) {
  const Node& node = search.node(sum);
  for (const size_t port : {size_t{0}, size_t{1}}) {
    PatternSearch attempt = search;
    const auto first = TakeTerm(node.Input(port), Side::kFirst, attempt);
    const auto second = first ? TakeTerm(node.Input(1 - port), Side::kSecond, attempt) : std::nullopt;
    if (second) {
      search = std::move(attempt);
      return TermPair{*first, *second};
    }
    if (!may_exchange) break;
  }
  return std::nullopt;
}

FoundTurned FindConcat(NodeId concat, PatternSearch& search) {
  const auto joined = TakeJoined(concat, search);
  if (!joined) return {{}, "it does not join two values along the last axis"};
  const NodeId difference = search.Take(joined->first, "Sub"), sum = search.Take(joined->second, "Add");
  if (difference == kNone || sum == kNone) return {{}, "it does not join a difference and a sum"};
  const auto cosine = TakeTerms(difference, false, search), sine = TakeTerms(sum, true, search);
  if (!cosine || !sine) return {{}, "difference and sum are not of products with both parts of one value"};
  const Part part = cosine->first.part;
  for (const Term& term : {cosine->second, sine->first, sine->second}) {
    const bool is_of_x = term.part.pairs == part.pairs && search.AreSame(term.part.x, part.x);
    if (!is_of_x) return {{}, "its parts are not of one value"};
  }
  const ValueId cosines = cosine->first.factor, sines = cosine->second.factor;
  const bool fits = search.AreSame(sine->second.factor, cosines) && search.AreSame(sine->first.factor, sines);
  if (!fits) return {{}, "sum and difference do not have the same cosine and sine"};
  Turned found{part.x, cosines, sines, {.pairs = part.pairs}, concat};
  if (joined->is_stacked != (part.pairs != Pairs::kHalves)) {
    return {{}, "its pairs are put together in another way than they are taken apart"};
  }
  if (part.pairs == Pairs::kInterleaved) {
    found.last = search.OnlyReader(concat, "Reshape");
    const bool is_flat = found.last != kNone && Flattens(found.last, part.x, search);
    if (!is_flat) return {{}, "its pairs do not become one axis again"};
    search.Join(found.last);
  }
  return {found};
}

// The elements that do not turn, behind those that do.
void TakeRest(Turned& found, PatternSearch& search) {
  if (found.form.pairs == Pairs::kLastAxis) return;
  PatternSearch attempt = search;
  const auto turns = TakeStretch(found.x, attempt);
  const NodeId concat = turns ? search.OnlyReader(found.last, "Concat") : kNone;
  const auto joined = concat == kNone ? std::nullopt : TakeJoined(concat, attempt);
  if (!joined || joined->is_stacked || !attempt.AreSame(joined->first, search.node(found.last).Output(0))) return;
  const auto stays = TakeStretch(joined->second, attempt);
  const bool fits = stays && attempt.AreSame(stays->of, turns->of) && turns->step == 1 && stays->step == 1 &&
                    turns->start == 0 && turns->end == stays->start && stays->end == kToTheEnd;
  if (!fits) return;
  search = std::move(attempt);
  found.x = turns->of;
  found.form.rotated = turns->end;
  found.last = concat;
}

}  // namespace

Recognised RecogniseRotary(const Model& model, NodeId anchor) {
  PatternSearch search(model);
  const bool is_sum = search.Is(anchor, "Add");
  if (!is_sum && !search.Is(anchor, "Concat")) return "no sum and no concatenation";
  FoundTurned found = is_sum ? FindSum(anchor, search) : FindConcat(anchor, search);
  if (!found.turned) return found.why;
  TakeRest(*found.turned, search);
  const Turned& turned = *found.turned;
  Pattern pattern{.kind = PatternKind::kRotary, .inputs = {turned.x, turned.cosines, turned.sines}};
  pattern.rotary = turned.form;
  return search.Complete(std::move(pattern), turned.last);
}

}  // namespace amp
