// Whether SplitToSequence keeps the axis that it splits.
//
//   SplitToSequence <keepdims = 0> (x)            dropped, as ONNX says
//   SplitToSequence <keepdims = 0> (x, 1)         dropped: PyTorch exports `unbind` so, and ONNX Runtime runs it so
//   SplitToSequence <keepdims = 0> (x, [1, 1])    kept
//
// ONNX's text differs in the second case: it says that keepdims is ignored where sizes are given, and its inference
// does that.
#ifndef AMP_IR_GRAPH_SPLIT_AXIS_H_
#define AMP_IR_GRAPH_SPLIT_AXIS_H_

#include "ir/graph/graph.h"

namespace amp {

enum class SplitAxis {
  kAsOnnxSays,  // also of every other operator
  kDropped,     // although ONNX's inference would keep it
  kUnknown,     // depends on a size that is computed
};

SplitAxis FindSplitAxis(const Model& model, NodeId node);

}  // namespace amp

#endif  // AMP_IR_GRAPH_SPLIT_AXIS_H_
