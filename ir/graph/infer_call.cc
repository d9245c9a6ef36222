#include "ir/graph/infer_call.h"

#include <algorithm>
#include <unordered_map>

#include "ir/schema/opset_imports.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"
#include "onnx/shape_inference/implementation.h"

namespace amp {
namespace {

constexpr absl::string_view kDomain = "ai.amp";
constexpr int kMostNodes = 256;

bool IsPlain(const onnx::NodeProto& node) {
  const bool has_graphs = std::any_of(node.attribute().begin(), node.attribute().end(), [](const auto& attribute) {
    return attribute.has_g() || attribute.graphs_size() > 0;
  });
  const bool reads_equation = FindOperator(node.domain(), node.op_type()).Has(Role::kReadsEquation);
  return CanonicalDomain(node.domain()).empty() && !has_graphs && !reads_equation;
}

bool IsPlain(const onnx::FunctionProto& function) {
  const auto& nodes = function.node();
  return function.domain() == kDomain && function.overload().empty() && nodes.size() <= kMostNodes &&
         std::all_of(nodes.begin(), nodes.end(), [](const onnx::NodeProto& node) { return IsPlain(node); });
}

}  // namespace

CallInference::CallInference(const Model& model) : model_(model) {
  for (const onnx::FunctionProto& function : model.proto().functions()) {
    if (IsPlain(function)) functions_.try_emplace(function.name(), &function);
  }
}

const onnx::FunctionProto* CallInference::FunctionOf(NodeId id) const {
  if (functions_.empty() || !model_.IsCallOfFunction(id)) return nullptr;
  const Node& node = model_.node(id);
  const bool is_own = node.domain() == kDomain && node.proto->overload().empty();
  const auto found = is_own ? functions_.find(node.op_type()) : functions_.end();
  return found == functions_.end() ? nullptr : found->second;
}

void CallInference::Infer(NodeId id, onnx::InferenceContext& context) const {
  const onnx::FunctionProto& function = *FunctionOf(id);
  std::unordered_map<std::string, int> imports;
  for (const auto& import : function.opset_import()) {
    imports[std::string(CanonicalDomain(import.domain()))] = static_cast<int>(import.version());
  }
  onnx::shape_inference::InferShapeForFunctionNode(function, imports, onnx::OpSchemaRegistry::Instance(), context);
}

}  // namespace amp
