// Element types and shapes of every value, by ONNX's own per-operator inference functions.
//
// The driver is ours: scopes are followed (If / Loop / Scan bodies see their owner's types), and nothing is fatal. A
// node whose inference function throws has outputs of unknown shape; their element types then follow from the schema's
// type variables. What the file claims in value_info is used only where inference knows nothing (outputs of unknown
// operators). Element types decide what is rewritten; shapes serve costs and advice alone.
#ifndef AMP_IR_GRAPH_INFER_H_
#define AMP_IR_GRAPH_INFER_H_

#include "ir/graph/graph.h"

namespace amp {

// Fills Value::type / dtype of every node output in every graph. Problems become model.warnings(). Linear in the nodes.
void InferTypes(Model& model);

}  // namespace amp

#endif  // AMP_IR_GRAPH_INFER_H_
