#include "ir/graph/insert_nodes.h"

#include <utility>
#include <vector>

#include "ir/graph/attributes.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

constexpr absl::string_view kCast = "Cast", kCastType = "to";
constexpr absl::string_view kConstant = "Constant", kConstantTensor = "value";

NodeId Insert(Model& model, const NewNodePlace& place, absl::string_view op_type, std::vector<ValueId> inputs,
              const NewNodeNames& names) {
  return model.InsertAfter(
      place.graph, place.anchor,
      {.op_type = op_type, .name = names.node, .inputs = std::move(inputs), .outputs = {names.output}});
}

}  // namespace

NodeId InsertCast(Model& model, const NewNodePlace& place, ValueId value, DType type, const NewNodeNames& names) {
  const NodeId node = Insert(model, place, kCast, {value}, names);
  SetDType(model, node, kCastType, type);
  const ValueId out = model.node(node).Output(0);
  model.CopyType(value, out);
  model.SetTensorType(out, type);
  return node;
}

NodeId InsertConstant(Model& model, const NewNodePlace& place, onnx::TensorProto* tensor, const NewNodeNames& names) {
  const NodeId node = Insert(model, place, kConstant, {}, names);
  AdoptTensor(model, node, kConstantTensor, tensor);
  return node;
}

void FillConstant(onnx::NodeProto& node, const std::string& output, const onnx::TensorProto& tensor) {
  node.set_op_type(std::string(kConstant));
  node.add_output(output);
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(std::string(kConstantTensor));
  attribute.set_type(onnx::AttributeProto::TENSOR);
  attribute.mutable_t()->CopyFrom(tensor);
  attribute.mutable_t()->clear_name();
}

void SetInputs(Model& model, NodeId node, absl::Span<const ValueId> inputs) {
  for (size_t port = 0; port < inputs.size(); ++port) {
    const bool is_there = port < model.node(node).inputs.size();
    is_there ? model.SetInput(node, port, inputs[port]) : model.AppendInput(node, inputs[port]);
  }
  model.TruncateInputs(node, inputs.size());
}

}  // namespace amp
