#include "ir/file/description.h"

#include "onnx/onnx_pb.h"

namespace amp {
namespace {

template <typename Message>
void Describe(const Message& original, Message& described) {
  if (original.has_doc_string()) described.set_doc_string(original.doc_string());
  *described.mutable_metadata_props() = original.metadata_props();
  described.mutable_unknown_fields()->MergeFrom(original.unknown_fields());
}

onnx::NodeProto DescriptionOf(const onnx::NodeProto& node) {
  onnx::NodeProto description;
  Describe(node, description);
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (!attribute.has_doc_string()) continue;
    onnx::AttributeProto* described = description.add_attribute();
    described->set_name(attribute.name());
    described->set_doc_string(attribute.doc_string());
  }
  return description;
}

}  // namespace

void DescribeAs(const onnx::TensorProto& original, onnx::TensorProto& tensor) {
  if (original.has_name()) tensor.set_name(original.name());
  Describe(original, tensor);
}

std::string SerializeDescription(const onnx::NodeProto& node) { return DescriptionOf(node).SerializeAsString(); }

bool RestoreDescription(onnx::NodeProto& node, absl::string_view bytes) {
  onnx::NodeProto description;
  if (!description.ParseFromString(std::string(bytes))) return false;
  if (DescriptionOf(description).SerializeAsString() != bytes) return false;  // it says more than that
  Describe(description, node);
  for (const onnx::AttributeProto& described : description.attribute()) {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.name() == described.name()) attribute.set_doc_string(described.doc_string());
    }
  }
  return true;
}

}  // namespace amp
