#include "ir/graph/attributes.h"

#include <utility>

#include "ir/file/validate_attribute.h"
#include "ir/file/validate_tensor.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

using onnx::AttributeProto;

// The attribute, whatever its kind.
const AttributeProto* FindAny(const Node& node, absl::string_view name) {
  for (const AttributeProto& attribute : node.proto->attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

const AttributeProto* Find(const Node& node, absl::string_view name, AttributeProto::AttributeType kind) {
  const AttributeProto* found = FindAny(node, name);
  if (found == nullptr || !found->ref_attr_name().empty() || found->type() != kind) return nullptr;
  return found;
}

AttributeProto* EditAny(Model& model, NodeId node, absl::string_view name) {
  if (FindAny(model.node(node), name) == nullptr) return nullptr;
  for (AttributeProto& attribute : *model.EditProto(node).mutable_attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

// The attribute emptied of its value and given a kind; appended when there was none. Its description stays.
AttributeProto& Renew(Model& model, NodeId node, absl::string_view name, AttributeProto::AttributeType kind) {
  AttributeProto* attribute = EditAny(model, node, name);
  if (attribute == nullptr) attribute = model.EditProto(node).add_attribute();
  AttributeProto kept;
  kept.set_name(std::string(name));  // `name` may point into the attribute that Clear() empties
  kept.set_type(kind);
  if (attribute->has_doc_string()) kept.set_doc_string(attribute->doc_string());
  kept.mutable_unknown_fields()->MergeFrom(attribute->unknown_fields());
  attribute->Clear();
  attribute->MergeFrom(kept);
  return *attribute;
}

}  // namespace

bool HasAttribute(const Node& node, absl::string_view name) { return FindAny(node, name) != nullptr; }

std::optional<int64_t> GetInt(const Node& node, absl::string_view name) {
  const AttributeProto* found = Find(node, name, AttributeProto::INT);
  if (found == nullptr) return std::nullopt;
  return found->i();
}

std::optional<float> GetFloat(const Node& node, absl::string_view name) {
  const AttributeProto* found = Find(node, name, AttributeProto::FLOAT);
  if (found == nullptr) return std::nullopt;
  return found->f();
}

std::optional<std::string> GetString(const Node& node, absl::string_view name) {
  const AttributeProto* found = Find(node, name, AttributeProto::STRING);
  if (found == nullptr) return std::nullopt;
  return found->s();
}

std::optional<std::vector<int64_t>> GetInts(const Node& node, absl::string_view name) {
  const AttributeProto* found = Find(node, name, AttributeProto::INTS);
  if (found == nullptr) return std::nullopt;
  return std::vector<int64_t>(found->ints().begin(), found->ints().end());
}

std::optional<std::vector<float>> GetFloats(const Node& node, absl::string_view name) {
  const AttributeProto* found = Find(node, name, AttributeProto::FLOATS);
  if (found == nullptr) return std::nullopt;
  return std::vector<float>(found->floats().begin(), found->floats().end());
}

std::optional<std::vector<std::string>> GetStrings(const Node& node, absl::string_view name) {
  const AttributeProto* found = Find(node, name, AttributeProto::STRINGS);
  if (found == nullptr) return std::nullopt;
  return std::vector<std::string>(found->strings().begin(), found->strings().end());
}

std::optional<DType> GetDType(const Node& node, absl::string_view name) {
  const std::optional<int64_t> number = GetInt(node, name);
  if (!number || *number <= 0 || *number >= kNumDTypes) return std::nullopt;
  return static_cast<DType>(*number);
}

const onnx::TensorProto* GetTensor(const Node& node, absl::string_view name) {
  const AttributeProto* found = Find(node, name, AttributeProto::TENSOR);
  return found == nullptr ? nullptr : &found->t();
}

const onnx::SparseTensorProto* GetSparseTensor(const Node& node, absl::string_view name) {
  const AttributeProto* found = Find(node, name, AttributeProto::SPARSE_TENSOR);
  return found == nullptr ? nullptr : &found->sparse_tensor();
}

GraphId GetBody(const Model& model, const Node& node, absl::string_view name) {
  const AttributeProto* found = Find(node, name, AttributeProto::GRAPH);
  for (const GraphId body : node.bodies) {
    if (found != nullptr && model.graph(body).proto == &found->g()) return body;
  }
  return kNone;
}

int64_t GetInt(const Node& node, absl::string_view name, int64_t fallback) {
  return GetInt(node, name).value_or(fallback);
}

float GetFloat(const Node& node, absl::string_view name, float fallback) {
  return GetFloat(node, name).value_or(fallback);
}

std::string GetString(const Node& node, absl::string_view name, absl::string_view fallback) {
  return GetString(node, name).value_or(std::string(fallback));
}

void SetInt(Model& model, NodeId node, absl::string_view name, int64_t value) {
  Renew(model, node, name, AttributeProto::INT).set_i(value);
}

void SetFloat(Model& model, NodeId node, absl::string_view name, float value) {
  Renew(model, node, name, AttributeProto::FLOAT).set_f(value);
}

void SetString(Model& model, NodeId node, absl::string_view name, absl::string_view value) {
  const std::string owned_value(value);  // may point into the attribute that is replaced
  Renew(model, node, name, AttributeProto::STRING).set_s(owned_value);
}

void SetInts(Model& model, NodeId node, absl::string_view name, absl::Span<const int64_t> values) {
  AttributeProto& attribute = Renew(model, node, name, AttributeProto::INTS);
  for (int64_t value : values) attribute.add_ints(value);
}

void SetFloats(Model& model, NodeId node, absl::string_view name, absl::Span<const float> values) {
  AttributeProto& attribute = Renew(model, node, name, AttributeProto::FLOATS);
  for (float value : values) attribute.add_floats(value);
}

void SetDType(Model& model, NodeId node, absl::string_view name, DType type) {
  SetInt(model, node, name, static_cast<int64_t>(type));
}

void SetInnerElementType(Model& model, NodeId node, absl::string_view name, DType type) {
  const AttributeProto* found = Find(model.node(node), name, AttributeProto::TYPE_PROTO);
  if (found == nullptr) return;
  onnx::TypeProto copy = found->tp();
  onnx::TypeProto_Tensor* tensor = InnermostTensor(&copy);
  if (tensor == nullptr || tensor->elem_type() == static_cast<int32_t>(type)) return;
  tensor->set_elem_type(static_cast<int32_t>(type));
  *Renew(model, node, name, AttributeProto::TYPE_PROTO).mutable_tp() = std::move(copy);
}

void SetTensor(Model& model, NodeId node, absl::string_view name, const onnx::TensorProto& tensor) {
  onnx::TensorProto copy = tensor;  // `tensor` may be the one that is replaced
  *Renew(model, node, name, AttributeProto::TENSOR).mutable_t() = std::move(copy);
}

onnx::TensorProto* EditTensor(Model& model, NodeId node, absl::string_view name) {
  if (GetTensor(model.node(node), name) == nullptr) return nullptr;
  return EditAny(model, node, name)->mutable_t();
}

void AdoptTensor(Model& model, NodeId node, absl::string_view name, onnx::TensorProto* tensor) {
  Renew(model, node, name, AttributeProto::TENSOR).unsafe_arena_set_allocated_t(tensor);
}

std::optional<std::string> SerializeAttribute(const Node& node, absl::string_view name) {
  const AttributeProto* found = FindAny(node, name);
  if (found == nullptr) return std::nullopt;
  return found->SerializeAsString();
}

bool RestoreAttribute(Model& model, NodeId node, absl::string_view name, const std::optional<std::string>& bytes) {
  if (!bytes.has_value()) {
    RemoveAttribute(model, node, name);
    return true;
  }
  AttributeProto parsed;
  if (!parsed.ParseFromString(*bytes) || parsed.name() != name) return false;
  const Limits limits;
  const bool is_sound = ValidateAttributeForm(parsed, model.ir_version(), InFunction::kNo).ok() &&
                        ValidateAttributeValue(model.node(node).op_type(), parsed, limits).ok() &&
                        (!parsed.has_t() || ValidateTensor(parsed.t(), limits, nullptr).ok());
  const bool is_plain = parsed.type() == AttributeProto::INT || parsed.type() == AttributeProto::FLOAT ||
                        parsed.type() == AttributeProto::FLOATS || parsed.type() == AttributeProto::TENSOR ||
                        parsed.type() == AttributeProto::TYPE_PROTO;
  const bool is_embedded = parsed.t().data_location() == onnx::TensorProto::DEFAULT;
  if (!is_sound || !is_plain || !is_embedded) return false;
  Renew(model, node, name, parsed.type()).CopyFrom(parsed);
  return true;
}

void RenameAttribute(Model& model, NodeId node, absl::string_view from, absl::string_view to) {
  if (!HasAttribute(model.node(node), from)) return;
  for (AttributeProto& attribute : *model.EditProto(node).mutable_attribute()) {
    if (attribute.name() == from) attribute.set_name(std::string(to));
  }
}

bool RemoveAttribute(Model& model, NodeId node, absl::string_view name) {
  const int count = model.node(node).proto->attribute_size();
  for (int i = 0; i < count; ++i) {
    if (model.node(node).proto->attribute(i).name() != name) continue;
    model.EditProto(node).mutable_attribute()->DeleteSubrange(i, 1);
    return true;
  }
  return false;
}

}  // namespace amp
