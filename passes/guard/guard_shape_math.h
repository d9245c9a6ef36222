// Guard "shape math": floats whose result becomes an integer stay high from the last allowed operator on.
//
//   Cast(Shape) -> Div(2) -> Floor -> Cast(int64)      all of it stays float32
//   MatMul -> Ceil -> Relu -> Cast(int64)              so does the product, which is there for nothing else
//   MatMul -> Concat(ids) -> Cast(int64)               the product does not: Concat joins things of different kinds
//   Conv -> Clip(0, 255) -> Cast(uint8)                a picture: 8 bits hold no count to be missed    -> passes
//   Floor -> Mul -> Add (image resizing)               never an integer                                -> passes
//
// float16 has no integer between 2048 and 2050: a length of 2049 becomes 2048, and the Slice that it ends loses a row.
#ifndef AMP_PASSES_GUARD_GUARD_SHAPE_MATH_H_
#define AMP_PASSES_GUARD_GUARD_SHAPE_MATH_H_

#include "passes/guard/guarded_graph.h"

namespace amp {

// Linear in nodes and uses.
void GuardShapeMath(const GuardedGraph& graph, VetoList& vetoes);

}  // namespace amp

#endif  // AMP_PASSES_GUARD_GUARD_SHAPE_MATH_H_
