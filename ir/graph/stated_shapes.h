// Shapes that a file states of values, in value_info and of outputs, against those that inference finds.
//
//   a = Relu (x), x: float[2,4], a stated as float[2,5]
//
// Runtimes load such files: where two shapes of a value contradict each other, ONNX Runtime takes neither. A cast of
// the value that states either is one more voice, and then they may refuse. So what contradicts inference is dropped,
// and beside it nothing new is stated.
#ifndef AMP_IR_GRAPH_STATED_SHAPES_H_
#define AMP_IR_GRAPH_STATED_SHAPES_H_

#include <string>

#include "ir/graph/graph.h"

namespace amp {

// Whether both are tensors of known rank, and no tensor can have both shapes.
bool ShapesContradict(const onnx::TypeProto& a, const onnx::TypeProto& b);

// A sentence that counts the values of all graphs whose stated shape contradicts the inferred one; empty if there are
// none. REQUIRES: types are inferred and nothing was renamed since the file was read.
std::string DescribeContradictions(const Model& model);

// Brings what `proto`, the graph's message, states of types up to date with what is known: element types of a body's
// inputs and outputs, and all entries of value_info, of which what the file says beside the type stays. A shape that
// inference does not tell stays; one that it contradicts goes, and the entry with it if it says nothing else. Values
// that this run made get entries where the file has any.
void StateTypes(const Model& model, GraphId graph, onnx::GraphProto& proto);

}  // namespace amp

#endif  // AMP_IR_GRAPH_STATED_SHAPES_H_
