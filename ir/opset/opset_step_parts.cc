// The parts of edits: constants, names, nodes before and behind.
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/arena.h"
#include "ir/base/check.h"
#include "ir/base/convert.h"
#include "ir/graph/attributes.h"
#include "ir/opset/opset_steps.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

onnx::TensorProto* NewTensor(Model& model, onnx::TensorProto::DataType type) {
  auto* tensor = google::protobuf::Arena::CreateMessage<onnx::TensorProto>(model.arena());
  tensor->set_data_type(type);
  return tensor;
}

ValueId AddInitializerFor(Model& model, NodeId node, absl::string_view suffix, onnx::TensorProto* tensor) {
  return model.AddInitializer(model.node(node).graph, NameFor(model, node, suffix), tensor);
}

ValueId Insert(Model& model, NodeId owner, NodeId anchor, absl::string_view op_type, std::vector<ValueId> inputs) {
  const std::string name = NameFor(model, owner, absl::AsciiStrToLower(op_type));
  const NodeId inserted =
      model.InsertAfter(model.node(owner).graph, anchor,
                        {.op_type = op_type, .name = name, .inputs = std::move(inputs), .outputs = {name}});
  return model.node(inserted).Output(0);
}

}  // namespace

std::string NameFor(Model& model, NodeId id, absl::string_view suffix) {
  const Node& node = model.node(id);
  for (ValueId output : node.outputs) {
    if (output != kNone) return model.UniqueName(absl::StrCat(model.value(output).name, "_", suffix));
  }
  return model.UniqueName(suffix);
}

ValueId AddInts(Model& model, NodeId node, absl::string_view suffix, absl::Span<const int64_t> values) {
  onnx::TensorProto* tensor = NewTensor(model, onnx::TensorProto::INT64);
  tensor->add_dims(static_cast<int64_t>(values.size()));
  for (int64_t value : values) tensor->add_int64_data(value);
  return AddInitializerFor(model, node, suffix, tensor);
}

ValueId AddIntScalar(Model& model, NodeId node, absl::string_view suffix, int64_t value) {
  onnx::TensorProto* tensor = NewTensor(model, onnx::TensorProto::INT64);
  tensor->add_int64_data(value);
  return AddInitializerFor(model, node, suffix, tensor);
}

ValueId AddFloats(Model& model, NodeId node, absl::string_view suffix, absl::Span<const float> values) {
  onnx::TensorProto* tensor = NewTensor(model, onnx::TensorProto::FLOAT);
  tensor->add_dims(static_cast<int64_t>(values.size()));
  for (float value : values) tensor->add_float_data(value);
  return AddInitializerFor(model, node, suffix, tensor);
}

ValueId AddFloatScalar(Model& model, NodeId node, absl::string_view suffix, float value, DType type) {
  if (type == DType::kFloat64) {
    onnx::TensorProto* tensor = NewTensor(model, onnx::TensorProto::DOUBLE);
    tensor->add_double_data(static_cast<double>(value));
    return AddInitializerFor(model, node, suffix, tensor);
  }
  onnx::TensorProto* tensor = NewTensor(model, static_cast<onnx::TensorProto::DataType>(type));
  if (type == DType::kFloat32) {
    tensor->add_float_data(value);
  } else {
    AMP_CHECK(IsLowFloat(type));
    tensor->add_int32_data(NarrowOne(value, type));
  }
  return AddInitializerFor(model, node, suffix, tensor);
}

std::optional<std::vector<float>> ConstantFloats(const Model& model, ValueId id) {
  if (id == kNone || !model.IsConstant(id)) return std::nullopt;
  const Value& value = model.value(id);
  const onnx::TensorProto* tensor =
      value.IsInitializer() ? value.initializer : GetTensor(model.node(value.producer), "value");
  if (tensor == nullptr || tensor->data_type() != onnx::TensorProto::FLOAT) return std::nullopt;
  if (tensor->data_location() == onnx::TensorProto::EXTERNAL) return std::nullopt;
  if (!tensor->has_raw_data()) return std::vector<float>(tensor->float_data().begin(), tensor->float_data().end());
  std::vector<float> floats(tensor->raw_data().size() / sizeof(float));
  std::memcpy(floats.data(), tensor->raw_data().data(), floats.size() * sizeof(float));
  return floats;
}

void SetOrAppendInput(Model& model, NodeId node, size_t port, ValueId value) {
  while (model.node(node).inputs.size() <= port) model.AppendInput(node, kNone);
  model.SetInput(node, port, value);
}

ValueId InsertBefore(Model& model, NodeId node, absl::string_view op_type, std::vector<ValueId> inputs) {
  return Insert(model, node, model.node(node).prev, op_type, std::move(inputs));
}

ValueId InsertBehind(Model& model, NodeId node, absl::string_view op_type, std::vector<ValueId> inputs) {
  return Insert(model, node, node, op_type, std::move(inputs));
}

void PutBehind(Model& model, ValueId value, ValueId replacement) {
  const NodeId reader = model.value(replacement).producer;
  model.CopyType(value, replacement);
  model.ReplaceUses(value, replacement, [reader](const Use& use) { return use.node != reader; });
  const std::string rows = NameFor(model, model.value(value).producer, "rows");
  model.TakeOverGraphOutputs(value, replacement, rows);
  onnx::TypeProto type;  // the shape that was known is the replacement's
  type.mutable_tensor_type()->set_elem_type(static_cast<int32_t>(model.value(value).dtype));
  if (model.value(value).is_tensor) model.SetType(value, type);
}

}  // namespace amp
