#include "ir/functions/schema_functions.h"

#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/graph/attributes.h"
#include "ir/schema/schema.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

constexpr char kBodyDomain[] = "ai.amp.body";

std::optional<onnx::FunctionProto> BodyOf(const Model& model, const Node& node, const onnx::OpSchema& schema) {
  const int opset = model.opset(node.domain());
  if (schema.HasFunction()) {
    const onnx::FunctionProto* body = schema.GetFunction(opset);
    return body == nullptr ? std::nullopt : std::optional(*body);
  }
  if (!schema.HasContextDependentFunction()) return std::nullopt;
  std::vector<onnx::TypeProto> types;
  for (const ValueId input : node.inputs) {
    const auto& type = model.value(input).type;
    types.push_back(type == nullptr ? onnx::TypeProto() : *type);
  }
  const onnx::FunctionBodyBuildContextImpl context(*node.proto, types);
  onnx::FunctionProto body;
  if (!schema.BuildContextDependentFunction(context, body, opset)) return std::nullopt;
  return body;
}

void AddDefaults(const onnx::OpSchema& schema, onnx::NodeProto& node) {
  for (const auto& [name, attribute] : schema.attributes()) {
    if (!attribute.default_value.has_type() || attribute.default_value.type() == onnx::AttributeProto::UNDEFINED)
      continue;
    bool is_stated = false;
    for (const auto& stated : node.attribute()) is_stated = is_stated || stated.name() == name;
    if (!is_stated) *node.add_attribute() = attribute.default_value;
  }
}

bool CallBody(Model& model, NodeId id) {
  const Node& node = model.node(id);
  if (node.schema == nullptr || node.schema->onnx() == nullptr) return false;
  const onnx::OpSchema& schema = *node.schema->onnx();
  std::optional<onnx::FunctionProto> body = BodyOf(model, node, schema);
  if (!body.has_value() || body->node().empty()) return false;
  const std::string name = absl::StrCat(node.op_type(), "_", id.index());
  body->set_domain(kBodyDomain);
  body->set_name(name);
  *model.EditProto().add_functions() = *std::move(body);
  AddDefaults(schema, model.EditProto(id));
  model.SetOperator(id, kBodyDomain, name);
  return true;
}

}  // namespace

int CallSchemaFunctions(Model& model, const std::function<bool(NodeId)>& wanted) {
  int count = 0;
  for (const NodeId id : model.AllNodes()) {
    if (!wanted(id)) continue;
    try {
      if (CallBody(model, id)) ++count;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception&) {  // the library's own words for a body that it cannot make: there is none then
    }
  }
  if (count > 0) model.SetOpset(kBodyDomain, 1);
  return count;
}

}  // namespace amp
