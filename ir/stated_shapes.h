// Shapes that a file states of values, in value_info and of outputs, against those that inference finds.
//
//   in: float[1,3,4,4] -> LRN -> a, stated as float[1,2,4,4] -> BatchNormalization with statistics of 2 elements
//
// Whoever changed the shape of an input by hand leaves such files. Runtimes load them: where the two shapes of `a`
// contradict each other they take neither, and so never see that the statistics contradict the input. They would
// without the statement, or with one that says what inference finds: it has to stay.
#ifndef AMP_IR_STATED_SHAPES_H_
#define AMP_IR_STATED_SHAPES_H_

#include <string>

#include "ir/graph.h"

namespace amp {

// Whether both are tensors of known rank, and no tensor can have both shapes.
bool ShapesContradict(const onnx::TypeProto& a, const onnx::TypeProto& b);

// A sentence that counts the values of all graphs whose stated shape contradicts the inferred one; empty if there are
// none. REQUIRES: types are inferred and nothing was renamed since the file was read.
std::string DescribeContradictions(const Model& model);

// Brings what the file states of types up to date with what is known: element types of the body's inputs and outputs
// and of all entries of value_info. Entries keep what is said about them, and a shape that nothing else tells or that
// contradicts the inferred one. Values that this run made get an entry where the file has any, and so does the one
// whose name and contradicted shape a cast took over.
void StateTypes(Model& model, GraphId graph);

}  // namespace amp

#endif  // AMP_IR_STATED_SHAPES_H_
