// Attributes that no version of their operator declares make a model invalid for every checker. Some exporters write
// them.
#ifndef AMP_IR_UNDECLARED_ATTRIBUTES_H_
#define AMP_IR_UNDECLARED_ATTRIBUTES_H_

#include "ir/graph.h"

namespace amp {

// Removes such attributes from all nodes of operators that ONNX defines, in every graph, with one warning of the model
// that counts them. A text goes to the node's doc_string where that is empty, so that nothing is lost.
void RemoveUndeclaredAttributes(Model& model);

}  // namespace amp

#endif  // AMP_IR_UNDECLARED_ATTRIBUTES_H_
