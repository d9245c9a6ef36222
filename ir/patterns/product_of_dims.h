// Numbers that a model computes of two dimensions or more: as dimensions are not known, they may be of any size.
//
//   Cast(Size(x))
//   Cast(ReduceProd(Shape(x)))
//   Cast(Mul(height, width)), or the Mul of both as floats
#ifndef AMP_IR_PATTERNS_PRODUCT_OF_DIMS_H_
#define AMP_IR_PATTERNS_PRODUCT_OF_DIMS_H_

#include "ir/graph/graph.h"

namespace amp {

// Whether the value, a float or a whole number, is such a product, or one with a constant. Steps back a few nodes.
bool IsProductOfDims(const Model& model, ValueId value);

}  // namespace amp

#endif  // AMP_IR_PATTERNS_PRODUCT_OF_DIMS_H_
