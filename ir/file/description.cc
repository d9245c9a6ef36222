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

}  // namespace

void DescribeAs(const onnx::TensorProto& original, onnx::TensorProto& tensor) {
  if (original.has_name()) tensor.set_name(original.name());
  Describe(original, tensor);
}

std::string SerializeDescription(const onnx::NodeProto& node) {
  onnx::NodeProto description;
  Describe(node, description);
  return description.SerializeAsString();
}

bool RestoreDescription(onnx::NodeProto& node, absl::string_view bytes) {
  onnx::NodeProto parsed, description;
  if (!parsed.ParseFromString(std::string(bytes))) return false;
  Describe(parsed, description);
  if (description.SerializeAsString() != bytes) return false;  // it says more than that
  Describe(description, node);
  return true;
}

}  // namespace amp
