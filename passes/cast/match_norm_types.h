// Gives scale and shift of a LayerNorm written out in small operators the type of what it normalises.
//
//   a = MatMul(x, w)                                   low
//   m = ReduceMean(a)   d = Sub(a, m)   ...   n = Div(d, s)     the island that a guard keeps float32
//   t = Mul(n, scale)   y = Add(t, shift)              float32 downstream of it     -> low, like a
//
// ONNX Runtime from opset 17 on makes one LayerNormalization of all that, and takes the casts around the island in:
// with a low `a` and a float32 scale, the operator's one type would have to be both, and the model does not load. With
// all three low it is one operator in the low type, whose statistics are float32.
//
// Not obvious: a scale or shift that a rule or a guard keeps float32 stays so (a level does not keep it); either of
// them low is enough to load.
#ifndef AMP_PASSES_CAST_MATCH_NORM_TYPES_H_
#define AMP_PASSES_CAST_MATCH_NORM_TYPES_H_

#include <vector>

#include "passes/cast/insert_casts.h"
#include "passes/paint/paint_graph.h"

namespace amp {

// Changes the paint of scales and shifts alone. Linear in nodes.
void MatchNormTypes(const Model& model, const VertexGraph& graph, const ReleasedIo& released, Paint& paint);

}  // namespace amp

#endif  // AMP_PASSES_CAST_MATCH_NORM_TYPES_H_
