#include "ir/patterns/silu_pattern.h"

#include "ir/patterns/pattern_search.h"

namespace amp {

Recognised RecogniseSilu(const Model& model, NodeId anchor) {
  PatternSearch search(model);
  if (!search.Is(anchor, "Sigmoid")) return "no sigmoid";
  const ValueId x = search.node(anchor).Input(0);
  search.Join(anchor);
  const NodeId product = search.OnlyReader(anchor, "Mul");
  if (product == kNone) return "it is not read by one product alone";
  if (!search.AreSame(search.OtherOperand(product, search.node(anchor).Output(0)), x)) {
    return "it is multiplied by another value";
  }
  search.Join(product);
  return search.Complete({.kind = PatternKind::kSilu, .inputs = {x}}, product);
}

}  // namespace amp
