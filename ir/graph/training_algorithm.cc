#include "ir/graph/training_algorithm.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "google/protobuf/arena.h"
#include "ir/base/status.h"
#include "ir/graph/infer.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

using Names = absl::flat_hash_set<std::string>;

template <typename Messages>
Names NamesOf(const Messages& messages) {
  Names names;
  for (const auto& message : messages) names.insert(message.name());
  return names;
}

Names ResultsOf(const onnx::GraphProto& graph) {
  Names names;
  for (const auto& node : graph.node()) names.insert(node.output().begin(), node.output().end());
  names.erase("");
  return names;
}

bool GivesOneOf(const onnx::NodeProto& node, const Names& names) {
  return std::any_of(node.output().begin(), node.output().end(),
                     [&](const std::string& output) { return names.contains(output); });
}

// Returns the messages whose names `known` does not have.
template <typename Messages>
void TakeOthers(const Messages& from, const Names& known, Messages* to) {
  to->Clear();
  for (const auto& message : from) {
    if (!known.contains(message.name())) *to->Add() = message;
  }
}

}  // namespace

bool HasTrainingInfo(const Model& model) { return model.proto().training_info_size() > 0; }

absl::StatusOr<std::unique_ptr<Model>> CombineWithAlgorithm(const Model& model,
                                                            std::shared_ptr<const OpSignatures> signatures) {
  if (model.proto().training_info_size() != 1) {
    return ModelError("expected one training_info, found ", model.proto().training_info_size());
  }
  auto arena = std::make_unique<google::protobuf::Arena>();
  auto* combined = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(arena.get());
  combined->CopyFrom(model.proto());
  onnx::GraphProto& graph = *combined->mutable_graph();
  const onnx::GraphProto& algorithm = model.proto().training_info(0).algorithm();
  const Names inputs = NamesOf(graph.input());
  graph.mutable_node()->MergeFrom(algorithm.node());
  graph.mutable_initializer()->MergeFrom(algorithm.initializer());
  graph.mutable_output()->MergeFrom(algorithm.output());
  for (const auto& input : algorithm.input()) {
    if (!inputs.contains(input.name())) *graph.add_input() = input;
  }
  combined->clear_training_info();
  AMP_ASSIGN_OR_RETURN(std::unique_ptr<Model> made, Model::Create(std::move(arena), combined, std::move(signatures)));
  InferTypes(*made);
  return made;
}

void TakeAlgorithm(Model& model, const Model& combined,
                   absl::Span<const std::pair<std::string, std::string>> bindings) {
  const onnx::GraphProto &main = model.proto().graph(), &graph = combined.proto().graph();
  const Names results = ResultsOf(main), initializers = NamesOf(main.initializer()), outputs = NamesOf(main.output());
  onnx::ModelProto& proto = model.EditProto();
  onnx::GraphProto& algorithm = *proto.mutable_training_info(0)->mutable_algorithm();
  algorithm.clear_node();
  for (const auto& node : graph.node()) {
    if (!GivesOneOf(node, results)) *algorithm.add_node() = node;
  }
  TakeOthers(graph.initializer(), initializers, algorithm.mutable_initializer());
  TakeOthers(graph.output(), outputs, algorithm.mutable_output());
  for (const auto& [initializer, next] : bindings) {
    auto* binding = proto.mutable_training_info(0)->add_update_binding();
    binding->set_key(initializer);
    binding->set_value(next);
  }
  *proto.mutable_functions() = combined.proto().functions();
  for (const auto& import : combined.proto().opset_import()) {
    if (model.opset(import.domain()) == 0) model.SetOpset(import.domain(), static_cast<int>(import.version()));
  }
  model.SetIrVersion(std::max(model.ir_version(), combined.ir_version()));
}

}  // namespace amp
