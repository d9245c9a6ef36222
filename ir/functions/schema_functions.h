// Operators that are spelled out in terms of others: the function bodies that ONNX's schemas have.
//
//   y = Gelu (x)                ->    y = ai.amp.body.Gelu_4 (x)
//                                     Gelu_4 (X) => (Y) { ... Erf, Mul ... }     a model-local function
//
// Who has no kernel for an operator inlines the call then (ir/functions/inline_functions.h).
#ifndef AMP_IR_FUNCTIONS_SCHEMA_FUNCTIONS_H_
#define AMP_IR_FUNCTIONS_SCHEMA_FUNCTIONS_H_

#include <functional>

#include "ir/graph/graph.h"

namespace amp {

// Lets those nodes for which `wanted` holds, and whose schema has a body at the model's opset, call a model-local
// function with that body; attributes that they leave out get the schema's defaults. Returns how many. The model is to
// be committed and made anew before it is of further use. REQUIRES: types are inferred.
int CallSchemaFunctions(Model& model, const std::function<bool(NodeId)>& wanted);

}  // namespace amp

#endif  // AMP_IR_FUNCTIONS_SCHEMA_FUNCTIONS_H_
