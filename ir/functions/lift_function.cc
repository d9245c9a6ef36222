#include "ir/functions/lift_function.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/arena.h"
#include "ir/base/status.h"
#include "ir/file/model_walk.h"
#include "ir/functions/inline_plan.h"
#include "ir/graph/graph.h"
#include "ir/graph/infer.h"
#include "ir/graph/insert_nodes.h"
#include "ir/opset/opset_adapters.h"
#include "ir/schema/opset_imports.h"
#include "ir/schema/schema.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

using onnx::FunctionProto;
using onnx::NodeProto;

// A node that changes between the opsets and whose attributes the adapters cannot see.
Reason UnseenAttribute(const FunctionProto& function, int from, int to) {
  Reason found = Reason::None();
  ForEachNodeWithin(function.node(), [&](const NodeProto& node) {
    if (!CanonicalDomain(node.domain()).empty()) return;
    if (FindOpSchema("", node.op_type(), from) == FindOpSchema("", node.op_type(), to)) return;
    for (const auto& attribute : node.attribute()) {
      if (attribute.ref_attr_name().empty()) continue;
      found = absl::StrCat("attribute '", Escaped(attribute.name()), "' of its ", Escaped(node.op_type()),
                           " is a reference, which the adapters cannot follow");
    }
  });
  return found;
}

// The function's nodes as a graph whose inputs have no types.
onnx::ModelProto* ModelOf(const FunctionProto& function, google::protobuf::Arena* arena) {
  auto* model = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(arena);
  model->set_ir_version(NewestIrVersion());
  model->mutable_opset_import()->CopyFrom(function.opset_import());
  auto& graph = *model->mutable_graph();
  graph.mutable_node()->CopyFrom(function.node());
  for (const std::string& name : function.input()) graph.add_input()->set_name(name);
  for (const std::string& name : function.output()) graph.add_output()->set_name(name);
  return model;
}

std::unique_ptr<FunctionProto> FunctionOf(const FunctionProto& function, const onnx::GraphProto& graph, int opset) {
  auto made = std::make_unique<FunctionProto>(function);
  made->clear_node();
  made->clear_value_info();
  for (const auto& tensor : graph.initializer()) {
    FillConstant(*made->add_node(), tensor.name(), tensor);
  }
  for (const auto& node : graph.node()) made->add_node()->CopyFrom(node);
  for (auto& import : *made->mutable_opset_import()) {
    if (CanonicalDomain(import.domain()).empty()) import.set_version(opset);
  }
  return made;
}

}  // namespace

LiftedFunction LiftFunction(const FunctionProto& function, int opset) {
  if (Reason why = UnseenAttribute(function, static_cast<int>(ImportedVersion(function, "")), opset)) {
    return {nullptr, std::move(why)};
  }
  auto arena = std::make_unique<google::protobuf::Arena>();
  onnx::ModelProto* proto = ModelOf(function, arena.get());
  absl::StatusOr<std::unique_ptr<Model>> model = Model::Create(std::move(arena), proto);
  if (!model.ok()) return {nullptr, std::string(model.status().message())};
  InferTypes(**model);
  OpsetReach reach = ReachableOpset(**model, opset);
  if (reach.opset < opset || !LiftOpset(**model, opset).ok()) return {nullptr, std::move(reach.blocking)};
  (*model)->Commit();
  return {FunctionOf(function, (*model)->proto().graph(), opset)};
}

absl::StatusOr<Reason> LiftModelToFunctions(std::unique_ptr<google::protobuf::Arena>& arena, onnx::ModelProto* proto,
                                            const std::vector<std::string>& opaque_domains) {
  if (proto->functions_size() == 0) return Reason::None();
  const int wanted = InlinePlan(*proto, opaque_domains).WantedOpset();
  if (wanted == 0) return Reason::None();
  AMP_ASSIGN_OR_RETURN(const std::unique_ptr<Model> model, Model::Create(std::move(arena), proto));
  InferTypes(*model);
  // They would hold the lift at their own versions, but are about to be inlined.
  google::protobuf::RepeatedPtrField<FunctionProto> functions;
  functions.CopyFrom(proto->functions());
  proto->clear_functions();
  OpsetReach reach = ReachableOpset(*model, wanted);
  if (reach.opset >= wanted) {
    AMP_RETURN_IF_ERROR(LiftOpset(*model, wanted));
    model->Commit();
    reach.blocking = Reason::None();
  }
  proto->mutable_functions()->CopyFrom(functions);
  arena = model->ReleaseArena();
  return std::move(reach.blocking);
}

}  // namespace amp
