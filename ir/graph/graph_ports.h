// Adds inputs and outputs of the main graph, and model-local functions, for passes that make a model larger.
//
//   g (float[N, 4] x) => (float[N, 2] y)   ->   g (float[N, 4] x, int64[N] labels) => (float[N, 2] y, float loss)
#ifndef AMP_IR_GRAPH_GRAPH_PORTS_H_
#define AMP_IR_GRAPH_GRAPH_PORTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace onnx {
class FunctionProto;
}

namespace amp {

// A new input of the main graph, behind the ones that it has: a tensor of these dimensions, of which those that are
// kUnknownDim have the symbol of the same position, or none where that is "". `name`: unique already.
ValueId AddGraphInput(Model& model, std::string name, DType dtype, const std::vector<int64_t>& dims,
                      const std::vector<std::string>& symbols);

// Makes an output of the main graph of `value`, under the name that it has, behind the outputs that there are. No
// effect if it is one already. REQUIRES: the value is of the main graph and its type is known.
void AddGraphOutput(Model& model, ValueId value);

// Makes an initializer of the main graph a default that callers may override: an input of its name, the last one. No
// effect on one that is. REQUIRES: the IR version is kInitializersNeedNoInput or a later one.
void MakeOverridable(Model& model, ValueId initializer);

// The value stays.
void RemoveGraphOutput(Model& model, size_t port);

// Nodes that call the function from now on have no schema. The import of its domain is the caller's.
void AddModelFunction(Model& model, const onnx::FunctionProto& function);

}  // namespace amp

#endif  // AMP_IR_GRAPH_GRAPH_PORTS_H_
