#include "ir/operators/node_facts.h"

#include <cstdint>
#include <limits>
#include <set>

#include "absl/strings/str_cat.h"
#include "ir/graph/attributes.h"
#include "ir/graph/shape.h"
#include "ir/schema/schema.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

using onnx::AttributeProto;

constexpr absl::string_view kDepthwise = "depthwise";

bool IsScalarKind(AttributeProto::AttributeType kind) {
  return kind == AttributeProto::STRING || kind == AttributeProto::INT || kind == AttributeProto::FLOAT;
}

std::optional<std::string> ScalarText(const AttributeProto& attribute) {
  if (!attribute.ref_attr_name().empty()) return std::nullopt;
  if (attribute.type() == AttributeProto::STRING) return attribute.s();
  if (attribute.type() == AttributeProto::INT) return absl::StrCat(attribute.i());
  if (attribute.type() == AttributeProto::FLOAT) return absl::StrCat(attribute.f());
  return std::nullopt;
}

const AttributeProto* FindDefault(const onnx::OpSchema& schema, const std::string& name) {
  const auto it = schema.attributes().find(name);
  if (it == schema.attributes().end()) return nullptr;
  return it->second.default_value.type() == AttributeProto::UNDEFINED ? nullptr : &it->second.default_value;
}

// The default at the model's opset; for an attribute that came later, the newest version's default.
std::optional<std::string> DefaultText(const Node& node, const std::string& name) {
  if (node.schema == nullptr || node.schema->is_signature()) return std::nullopt;
  const onnx::OpSchema* schema = node.schema->onnx();
  if (schema->attributes().count(name) == 0) {
    schema = onnx::OpSchemaRegistry::Schema(std::string(node.op_type()), std::string(node.domain()));
  }
  const AttributeProto* value = schema == nullptr ? nullptr : FindDefault(*schema, name);
  return value == nullptr ? std::nullopt : ScalarText(*value);
}

// Extent of a dimension of a value, kUnknownDim if it is not known.
int64_t Extent(const Model& model, ValueId id, size_t dim) {
  if (id == kNone) return kUnknownDim;
  const std::optional<std::vector<int64_t>> shape = ShapeOf(model, id);
  return shape && dim < shape->size() ? (*shape)[dim] : kUnknownDim;
}

// One group per input channel, and more than one. Weights are [C_out, C_in / group, ...], transposed ones [C_in, ...].
bool IsDepthwise(const Model& model, const Node& node, int64_t group) {
  if (group <= 1 || node.inputs.size() < 2) return false;
  if (node.Has(Role::kSwapsChannels)) return Extent(model, node.Input(1), 0) == group;
  return Extent(model, node.Input(1), 1) == 1;
}

bool HasGroups(const OpSchema& schema) {
  return !schema.is_signature() && schema.onnx()->attributes().count("group") != 0;
}

}  // namespace

std::vector<std::string> ConditionFacts(absl::string_view domain, absl::string_view op_type) {
  std::set<std::string> keys;
  int version = std::numeric_limits<int>::max();
  while (const OpSchema* schema = FindOpSchema(domain, op_type, version)) {
    for (const auto& [name, attribute] : schema->onnx()->attributes()) {
      if (IsScalarKind(attribute.type)) keys.insert(name);
    }
    if (HasGroups(*schema)) keys.emplace(kDepthwise);
    version = schema->since_version() - 1;
    if (version < 1) break;
  }
  return {keys.begin(), keys.end()};
}

std::optional<std::string> NodeFact(const Model& model, NodeId id, absl::string_view key) {
  const Node& node = model.node(id);
  const std::string name(key);
  if (key == kDepthwise && node.schema != nullptr && HasGroups(*node.schema)) {
    return IsDepthwise(model, node, GetInt(node, "group", 1)) ? "1" : "0";
  }
  for (const AttributeProto& attribute : node.proto->attribute()) {
    if (attribute.name() == name) return ScalarText(attribute);
  }
  return DefaultText(node, name);
}

absl::flat_hash_map<std::string, std::string> CallFacts(const onnx::NodeProto& call,
                                                        const onnx::FunctionProto& function) {
  absl::flat_hash_map<std::string, std::string> facts;
  for (const auto* attributes : {&call.attribute(), &function.attribute_proto()}) {
    for (const AttributeProto& attribute : *attributes) {
      if (const auto text = ScalarText(attribute)) facts.try_emplace(attribute.name(), *text);
    }
  }
  return facts;
}

}  // namespace amp
