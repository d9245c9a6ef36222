#include "ir/functions/call_workplace.h"

#include "google/protobuf/arena.h"
#include "ir/file/model_walk.h"
#include "onnx/onnx_pb.h"

namespace amp {

onnx::NodeProto* CallWorkplace::Copy(onnx::NodeProto& node) {
  auto* copy = google::protobuf::Arena::CreateMessage<onnx::NodeProto>(arena);
  copy->CopyFrom(node);
  CopyConversions(node, *copy);
  return copy;
}

onnx::FunctionProto* CallWorkplace::Copy(onnx::FunctionProto& function) {
  auto* copy = google::protobuf::Arena::CreateMessage<onnx::FunctionProto>(arena);
  copy->CopyFrom(function);
  for (int i = 0; i < function.node_size(); ++i) CopyConversions(*function.mutable_node(i), *copy->mutable_node(i));
  return copy;
}

void CallWorkplace::ForgetCopies() {
  for (const onnx::TensorProto* tensor : copies) weights->Forget(*tensor);
}

void CallWorkplace::CopyConversions(onnx::NodeProto& from, onnx::NodeProto& to) {
  if (weights == nullptr) return;
  std::vector<const onnx::TensorProto*> tensors;
  ForEachMutableTensor(from, [&](onnx::TensorProto& tensor) { tensors.push_back(&tensor); });
  size_t at = 0;
  ForEachMutableTensor(to, [&](onnx::TensorProto& tensor) {
    const TensorView* source = weights->SourceOf(*tensors[at++]);
    if (source == nullptr) return;
    weights->ConvertWhenSaved(tensor, *source);
    copies.push_back(&tensor);
  });
}

}  // namespace amp
