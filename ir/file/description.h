// Descriptions of a tensor or a node for readers of the file: doc_string (of a node's attributes, too), metadata_props,
// fields that this program does not know. Edits that replace a tensor or node by another take them along.
#ifndef AMP_IR_FILE_DESCRIPTION_H_
#define AMP_IR_FILE_DESCRIPTION_H_

#include <string>

#include "absl/strings/string_view.h"

namespace onnx {
class NodeProto;
class TensorProto;
}  // namespace onnx

namespace amp {

// Lets `tensor` say about itself what `original` does, its name included; elements, type and shape are its own.
void DescribeAs(const onnx::TensorProto& original, onnx::TensorProto& tensor);

// The description of a node as bytes, to be put back later; empty if it has none.
std::string SerializeDescription(const onnx::NodeProto& node);
// False, and no effect, for bytes that are no such description.
bool RestoreDescription(onnx::NodeProto& node, absl::string_view bytes);

}  // namespace amp

#endif  // AMP_IR_FILE_DESCRIPTION_H_
