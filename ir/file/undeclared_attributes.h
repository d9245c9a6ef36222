// Attributes that no version of their operator declares make a model invalid for every checker. Some exporters write
// them.
#ifndef AMP_IR_FILE_UNDECLARED_ATTRIBUTES_H_
#define AMP_IR_FILE_UNDECLARED_ATTRIBUTES_H_

#include <string>

namespace onnx {
class ModelProto;
}

namespace amp {

// Removes such attributes from all nodes of operators that ONNX defines at the model's opset, or at `highest_opset` if
// not there, in every graph but those of functions. Graphs go with everything in them: that is why it has to happen
// before the graph in memory is made, which would take their nodes and what they read for the model's. A text goes to
// the node's doc_string where that is empty, so that nothing is lost. Returns a sentence that counts them, empty if
// there are none.
std::string RemoveUndeclaredAttributes(onnx::ModelProto& model, int highest_opset);

}  // namespace amp

#endif  // AMP_IR_FILE_UNDECLARED_ATTRIBUTES_H_
