#include "ir/graph/append_nodes.h"

#include <bit>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/arena.h"
#include "ir/base/check.h"
#include "ir/base/convert.h"
#include "ir/graph/attributes.h"
#include "ir/graph/insert_nodes.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

// Writes one kind of attribute each.
struct AttributeWriter {
  Model& model;
  NodeId node;
  absl::string_view name;

  void operator()(int64_t value) const { SetInt(model, node, name, value); }
  void operator()(float value) const { SetFloat(model, node, name, value); }
  void operator()(const std::string& value) const { SetString(model, node, name, value); }
  void operator()(DType value) const { SetDType(model, node, name, value); }
  void operator()(const std::vector<int64_t>& values) const { SetInts(model, node, name, values); }
  void operator()(const std::vector<float>& values) const { SetFloats(model, node, name, values); }
};

onnx::TensorProto* NewTensor(Model& model, DType type) {
  auto* tensor = google::protobuf::Arena::CreateMessage<onnx::TensorProto>(model.arena());
  tensor->set_data_type(static_cast<int32_t>(type));
  return tensor;
}

}  // namespace

void StateType(Model& model, ValueId value, DType type, const std::vector<int64_t>& dims) {
  onnx::TypeProto stated;
  stated.mutable_tensor_type()->set_elem_type(static_cast<int32_t>(type));
  auto& shape = *stated.mutable_tensor_type()->mutable_shape();
  for (const int64_t dim : dims) shape.add_dim()->set_dim_value(dim);
  model.SetType(value, stated);
}

NodeId NodeAppender::AddNode(absl::string_view domain, absl::string_view op_type, std::vector<ValueId> inputs,
                             size_t num_outputs) {
  const std::string name = model_.UniqueName(absl::StrCat(prefix_, "/", op_type));
  Model::NewNode spec{
      .op_type = op_type, .domain = domain, .name = name, .inputs = std::move(inputs), .outputs = {name}};
  for (size_t i = 1; i < num_outputs; ++i) spec.outputs.push_back(model_.UniqueName(absl::StrCat(name, ":", i)));
  return model_.InsertAfter(kMainGraph, model_.graph(kMainGraph).last, spec);
}

ValueId NodeAppender::Add(absl::string_view op_type, std::vector<ValueId> inputs, const NewAttributes& attributes) {
  return AddMany("", op_type, std::move(inputs), 1, attributes).front();
}

std::vector<ValueId> NodeAppender::AddMany(absl::string_view domain, absl::string_view op_type,
                                           std::vector<ValueId> inputs, size_t num_outputs,
                                           const NewAttributes& attributes) {
  const NodeId node = AddNode(domain, op_type, std::move(inputs), num_outputs);
  for (const auto& [name, value] : attributes) std::visit(AttributeWriter{model_, node, name}, value);
  const auto& outputs = model_.node(node).outputs;
  return {outputs.begin(), outputs.end()};
}

ValueId NodeAppender::AddConstant(const std::string& key, onnx::TensorProto* tensor) {
  const std::string name = model_.UniqueName(absl::StrCat(prefix_, "/constant"));
  const NodeId node =
      InsertConstant(model_, {kMainGraph, model_.graph(kMainGraph).last}, tensor, {.output = name, .node = name});
  const ValueId value = model_.node(node).Output(0);
  StateType(model_, value, static_cast<DType>(tensor->data_type()), {tensor->dims().begin(), tensor->dims().end()});
  return constants_[key] = value;
}

ValueId NodeAppender::Int64(int64_t value) { return Scalar(static_cast<double>(value), DType::kInt64); }

ValueId NodeAppender::Int64s(const std::vector<int64_t>& values) {
  const std::string key = absl::StrCat("[", absl::StrJoin(values, ","), "]");
  if (const auto it = constants_.find(key); it != constants_.end()) return it->second;
  onnx::TensorProto* tensor = NewTensor(model_, DType::kInt64);
  tensor->add_dims(static_cast<int64_t>(values.size()));
  for (const int64_t value : values) tensor->add_int64_data(value);
  return AddConstant(key, tensor);
}

ValueId NodeAppender::Bool(bool value) {
  const std::string key = value ? "true" : "false";
  if (const auto it = constants_.find(key); it != constants_.end()) return it->second;
  onnx::TensorProto* tensor = NewTensor(model_, DType::kBool);
  tensor->add_int32_data(value ? 1 : 0);
  return AddConstant(key, tensor);
}

ValueId NodeAppender::Scalar(double value, DType type) {
  const std::string key = absl::StrCat(DTypeName(type), absl::Hex(std::bit_cast<uint64_t>(value)));
  if (const auto it = constants_.find(key); it != constants_.end()) return it->second;
  onnx::TensorProto* tensor = NewTensor(model_, type);
  if (IsLowFloat(type)) {
    uint16_t bits = 0;
    NarrowFloat64({&value, 1}, type, {&bits, 1});
    tensor->add_int32_data(bits);
  } else if (type == DType::kFloat64) {
    tensor->add_double_data(value);
  } else if (type == DType::kInt64) {
    tensor->add_int64_data(static_cast<int64_t>(value));
  } else if (type == DType::kInt32) {
    tensor->add_int32_data(static_cast<int32_t>(value));
  } else {
    AMP_CHECK(type == DType::kFloat32);
    tensor->add_float_data(static_cast<float>(value));
  }
  return AddConstant(key, tensor);
}

}  // namespace amp
