// Attention, written out: the softmax of the products of queries and keys, with scale, soft cap and masks, times
// values.
//
//   s = MatMul(q, Transpose(k)) * 0.125   p = Softmax(s + mask)   y = MatMul(p, v)
//   s = MatMul(q * 0.35, Transpose(k) * 0.35)   p = Softmax(Where(keep, s, -1e9))   y = MatMul(p, v)
//
// The product is MatMul, Gemm or Einsum; the softmax is Softmax or written out; casts from float to float, Dropout that
// does not train and a Where that puts zeros for the NaNs of rows without any key may be inside. Not obvious: other
// nodes, such as a factor of the queries that is no constant, or a transposition with another reader, stay outside;
// their results are then the queries or keys.
#ifndef AMP_IR_PATTERNS_ATTENTION_PATTERN_H_
#define AMP_IR_PATTERNS_ATTENTION_PATTERN_H_

#include "ir/patterns/pattern.h"

namespace amp {

// REQUIRES: types are inferred. `anchor`: the product with the values.
Recognised RecogniseAttention(const Model& model, NodeId anchor);

}  // namespace amp

#endif  // AMP_IR_PATTERNS_ATTENTION_PATTERN_H_
