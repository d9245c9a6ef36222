#include "ir/patterns/hard_swish_pattern.h"

#include <cmath>

#include "ir/graph/attributes.h"
#include "ir/patterns/pattern_search.h"

namespace amp {
namespace {

constexpr double kSixth = 1.0 / 6;
bool IsSixth(double value) { return std::abs(value - kSixth) < 1e-5; }

bool IsRelu6(const Node& clip, const PatternSearch& search) {
  if (clip.inputs.size() == 1) return GetFloat(clip, "min") == 0.0f && GetFloat(clip, "max") == 6.0f;
  return search.IsScalar(clip.Input(1), 0) && search.IsScalar(clip.Input(2), 6);
}

// The only reader that divides by 6, which joins.
NodeId FollowSixth(NodeId id, PatternSearch& search) {
  NodeId reader = search.OnlyReader(id, "Div");
  bool fits = reader != kNone && search.IsScalar(search.node(reader).Input(1), 6);
  if (!fits) {
    reader = search.OnlyReader(id, "Mul");
    const auto split = reader == kNone ? std::nullopt : search.SplitScalar(reader);
    fits = split && IsSixth(split->scalar);
  }
  if (!fits) return kNone;
  search.Join(reader);
  return reader;
}

NodeId FollowProduct(NodeId id, ValueId x, PatternSearch& search) {
  const NodeId product = search.OnlyReader(id, "Mul");
  if (product == kNone || !search.AreSame(search.OtherOperand(product, search.node(id).Output(0)), x)) return kNone;
  search.Join(product);
  return product;
}

}  // namespace

Recognised RecogniseHardSwish(const Model& model, NodeId anchor) {
  PatternSearch search(model);
  search.Join(anchor);
  const Node& node = search.node(anchor);
  ValueId x = kNone;
  NodeId last = kNone;
  if (search.Is(anchor, "HardSigmoid")) {
    const bool fits = IsSixth(GetFloat(node, "alpha", 0.2f)) && GetFloat(node, "beta", 0.5f) == 0.5f;
    if (!fits) return "its slope is not a sixth, or its middle not a half";
    x = node.Input(0);
    last = FollowProduct(anchor, x, search);
    if (last == kNone) return "it is not multiplied by x alone";
  } else if (search.Is(anchor, "Clip")) {
    const NodeId sum = search.Take(node.Input(0), "Add");
    const auto three = sum == kNone ? std::nullopt : search.SplitScalar(sum);
    if (!three || three->scalar != 3 || !IsRelu6(node, search)) return "it does not clip x + 3 to 0 and 6";
    x = three->variable;
    if (const NodeId sixth = FollowSixth(anchor, search); sixth != kNone) {
      last = FollowProduct(sixth, x, search);
    } else if (const NodeId product = FollowProduct(anchor, x, search); product != kNone) {
      last = FollowSixth(product, search);
    }
    if (last == kNone) return "it is not multiplied by x and a sixth";
  } else {
    return "no clip and no hard sigmoid";
  }
  return search.Complete({.kind = PatternKind::kHardSwish, .inputs = {x}}, last);
}

}  // namespace amp
