#include "ir/patterns/softmax_pattern.h"

#include <utility>

#include "ir/patterns/pattern_search.h"

namespace amp {
namespace {

FoundSum TakeSumOfExponentials(ValueId value, PatternSearch& search) {
  const NodeId sum = search.Take(value, "ReduceSum");
  if (sum == kNone) return {{}, "there is no sum"};
  const NodeId exponential = search.Take(search.node(sum).Input(0), "Exp");
  if (exponential == kNone) return {{}, "the sum is not of exponentials"};
  const auto axes = search.KeptAxes(sum);
  if (!axes.has_value()) return {{}, "the axes of the sum are not known, or not kept"};
  const ValueId exponent = search.node(exponential).Input(0);
  SumOfExponentials found{.x = exponent, .exponent = exponent, .axes = *axes};
  const NodeId difference = search.Peek(exponent, "Sub");
  const NodeId maximum = difference == kNone ? kNone : search.Peek(search.node(difference).Input(1), "ReduceMax");
  if (maximum != kNone && search.AreSame(search.node(maximum).Input(0), search.node(difference).Input(0))) {
    if (search.KeptAxes(maximum) != axes) return {{}, "maximum and sum are taken over different axes"};
    search.Take(exponent, "Sub");
    search.Take(search.node(difference).Input(1), "ReduceMax");
    found.x = search.node(difference).Input(0);
    found.maximum = search.node(difference).Input(1);
  }
  return {std::move(found)};
}

FoundSum FindInDivision(NodeId anchor, PatternSearch& search) {
  const Node& node = search.node(anchor);
  FoundSum found = TakeSumOfExponentials(node.Input(1), search);
  if (!found.sum) return found;
  const NodeId numerator = search.Take(node.Input(0), "Exp");
  if (numerator == kNone || !search.AreSame(search.node(numerator).Input(0), found.sum->exponent)) {
    return {{}, "what is divided is not what is summed"};
  }
  search.Join(anchor);
  return found;
}

FoundSum FindInLogarithm(NodeId anchor, PatternSearch& search) {
  FoundSum found = TakeSumOfExponentials(search.node(anchor).Input(0), search);
  if (found.sum) search.Join(anchor);
  return found;
}

Recognised Complete(PatternKind kind, const SumOfExponentials& found, NodeId last, const PatternSearch& search) {
  return search.Complete({.kind = kind, .inputs = {found.x}, .axes = found.axes}, last);
}

Recognised RecogniseAroundLogarithm(NodeId anchor, const SumOfExponentials& sum, PatternSearch search) {
  const ValueId logarithm = search.node(anchor).Output(0);
  const NodeId difference = search.OnlyReader(anchor, "Sub");
  if (difference != kNone && search.AreSame(search.node(difference).Input(1), logarithm) &&
      search.AreSame(search.node(difference).Input(0), sum.exponent)) {
    search.Join(difference);
    return Complete(PatternKind::kLogSoftmax, sum, difference, search);
  }
  if (sum.maximum == kNone) return Complete(PatternKind::kLogSumExp, sum, anchor, search);
  const NodeId addition = search.OnlyReader(anchor, "Add");
  if (addition == kNone || !search.AreSame(search.OtherOperand(addition, logarithm), sum.maximum)) {
    return "the maximum is not added again";
  }
  search.Join(addition);
  return Complete(PatternKind::kLogSumExp, sum, addition, search);
}

}  // namespace

FoundSum FindSumOfExponentials(NodeId anchor, PatternSearch& search) {
  if (search.Is(anchor, "Div")) return FindInDivision(anchor, search);
  if (search.Is(anchor, "Log")) return FindInLogarithm(anchor, search);
  return {{}, "no division and no logarithm"};
}

Recognised RecogniseSoftmax(const Model& model, NodeId anchor) {
  PatternSearch search(model);
  const FoundSum found = FindSumOfExponentials(anchor, search);
  if (!found.sum) return found.why;
  if (search.Is(anchor, "Div")) return Complete(PatternKind::kSoftmax, *found.sum, anchor, search);
  return RecogniseAroundLogarithm(anchor, *found.sum, search);
}

}  // namespace amp
