// Guard "identifiers": integers that only pass through floats, and come back as integers, stay exact.
//
//   Cast(int64 id) -> Concat(features) -> Split -> Cast(int64)       the way from cast to cast stays float32
//   OneHot(route) -> MatMul(Cast(int64 id)) -> Cast(int64)           a product that only picks rows is part of the way
//   Cast(int64 id) -> MatMul(weights) -> Round -> Cast(int64)        arithmetic that makes other numbers   -> passes
//   Cast(uint8) -> Reshape -> Cast(uint8)                            256 values, exact in both low types   -> passes
//
// A rounded id is another id. Against "positions" and "shape math", which end at an allowed operator, this guard
// follows an id through products with rows of zeros and a one, the way in which accelerators gather.
#ifndef AMP_PASSES_GUARD_GUARD_IDENTIFIERS_H_
#define AMP_PASSES_GUARD_GUARD_IDENTIFIERS_H_

#include "passes/guard/guarded_graph.h"

namespace amp {

// Linear in nodes and uses.
void GuardIdentifiers(const GuardedGraph& graph, VetoList& vetoes);

}  // namespace amp

#endif  // AMP_PASSES_GUARD_GUARD_IDENTIFIERS_H_
