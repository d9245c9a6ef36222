#include "ir/patterns/softmax_pattern.h"

#include <utility>

#include "ir/patterns/pattern_search.h"

namespace amp {
namespace {

struct Exponentials {
  ValueId x = kNone;         // before the maximum is subtracted
  ValueId exponent = kNone;  // after it
  ValueId maximum = kNone;   // kNone where none is subtracted
  std::vector<int64_t> axes;
};
struct FoundSum {
  std::optional<Exponentials> exponentials;
  Reason why = Reason::None();
};

FoundSum TakeSumOfExponentials(ValueId value, PatternSearch& search) {
  const NodeId sum = search.Take(value, "ReduceSum");
  if (sum == kNone) return {{}, "there is no sum"};
  const NodeId exponential = search.Take(search.node(sum).Input(0), "Exp");
  if (exponential == kNone) return {{}, "the sum is not of exponentials"};
  const auto axes = search.KeptAxes(sum);
  if (!axes.has_value()) return {{}, "the axes of the sum are not known, or not kept"};
  const ValueId exponent = search.node(exponential).Input(0);
  Exponentials found{.x = exponent, .exponent = exponent, .axes = *axes};
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

Recognised Complete(PatternKind kind, const Exponentials& found, NodeId last, const PatternSearch& search) {
  return search.Complete({.kind = kind, .inputs = {found.x}, .axes = found.axes}, last);
}

Recognised RecogniseDivision(NodeId anchor, PatternSearch search) {
  const Node& node = search.node(anchor);
  const FoundSum found = TakeSumOfExponentials(node.Input(1), search);
  if (!found.exponentials) return found.why;
  const NodeId numerator = search.Take(node.Input(0), "Exp");
  if (numerator == kNone || !search.AreSame(search.node(numerator).Input(0), found.exponentials->exponent)) {
    return "what is divided is not what is summed";
  }
  search.Join(anchor);
  return Complete(PatternKind::kSoftmax, *found.exponentials, anchor, search);
}

Recognised RecogniseLogarithm(NodeId anchor, PatternSearch search) {
  const FoundSum found = TakeSumOfExponentials(search.node(anchor).Input(0), search);
  if (!found.exponentials) return found.why;
  search.Join(anchor);
  const Exponentials& sum = *found.exponentials;
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

Recognised RecogniseSoftmax(const Model& model, NodeId anchor) {
  const PatternSearch search(model);
  if (search.Is(anchor, "Div")) return RecogniseDivision(anchor, search);
  if (search.Is(anchor, "Log")) return RecogniseLogarithm(anchor, search);
  return "no division and no logarithm";
}

}  // namespace amp
