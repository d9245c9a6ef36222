// The nodes that this program puts into graphs of its own accord: casts and constants. Nobody else makes any.
#ifndef AMP_IR_GRAPH_INSERT_NODES_H_
#define AMP_IR_GRAPH_INSERT_NODES_H_

#include <string>

#include "absl/types/span.h"
#include "ir/graph/graph.h"

namespace amp {

struct NewNodePlace {
  GraphId graph = kMainGraph;
  NodeId anchor = kNone;  // which the node comes right after; kNone: at the front
};

struct NewNodeNames {
  std::string output;  // unique already
  std::string node;    // the same, or "" for none
};

// A Cast of `value` to `type`. Its output has the shape of the value.
NodeId InsertCast(Model& model, const NewNodePlace& place, ValueId value, DType type, const NewNodeNames& names);

// A Constant that owns `tensor`, which lives on the model's arena.
NodeId InsertConstant(Model& model, const NewNodePlace& place, onnx::TensorProto* tensor, const NewNodeNames& names);

// Fills a message, in a function for example: `output` is a copy of `tensor` without its name.
void FillConstant(onnx::NodeProto& node, const std::string& output, const onnx::TensorProto& tensor);

// Lets a node that becomes another operator read these values, and no others.
void SetInputs(Model& model, NodeId node, absl::Span<const ValueId> inputs);

}  // namespace amp

#endif  // AMP_IR_GRAPH_INSERT_NODES_H_
