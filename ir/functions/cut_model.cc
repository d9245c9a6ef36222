#include "ir/functions/cut_model.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "ir/base/status.h"
#include "ir/file/model_walk.h"
#include "ir/functions/inline_functions.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

using Names = absl::flat_hash_set<std::string>;

template <typename Field, typename Predicate>
void EraseIf(Field& field, const Predicate& is_gone) {
  field.erase(std::remove_if(field.begin(), field.end(), is_gone), field.end());
}

// The values of the main graph that `output` is computed from, itself included. Nodes may stand in any order.
Names NeededFor(const onnx::GraphProto& graph, const std::string& output) {
  absl::flat_hash_map<std::string, const onnx::NodeProto*> producers;
  for (const auto& node : graph.node()) {
    for (const std::string& name : node.output()) producers.emplace(name, &node);
  }
  Names needed = {output};
  std::vector<std::string> open = {output};
  while (!open.empty()) {
    const auto it = producers.find(open.back());
    open.pop_back();
    if (it == producers.end()) continue;
    ForEachRead(*it->second, [&](const std::string& name) {
      if (needed.insert(name).second) open.push_back(name);
    });
  }
  return needed;
}

const onnx::NodeProto* FindProducer(const onnx::GraphProto& graph, const std::string& value) {
  for (const auto& node : graph.node()) {
    if (absl::c_linear_search(node.output(), value)) return &node;
  }
  return nullptr;
}

// Whether the node is one that the last layer of a classifier ends in.
bool GivesLogits(const onnx::NodeProto& node) {
  return node.op_type() == "MatMul" || node.op_type() == "Gemm" || node.op_type() == "Add";
}

}  // namespace

absl::Status CutToOutput(onnx::ModelProto& model, const std::string& output, const Names& constants,
                         const Names& metadata) {
  onnx::GraphProto& graph = *model.mutable_graph();
  if (const std::vector<std::string> names = OutputNames(model); !absl::c_linear_search(names, output)) {
    return ModelError("expected an output '", Escaped(output), "', found ", QuotedFirstOf(names));
  }
  EraseIf(*graph.mutable_output(), [&](const auto& value) { return value.name() != output; });
  const Names needed = NeededFor(graph, output);
  EraseIf(*graph.mutable_node(), [&](const onnx::NodeProto& node) {
    return std::none_of(node.output().begin(), node.output().end(),
                        [&](const std::string& name) { return needed.contains(name); });
  });
  const auto is_unneeded = [&](const auto& value) { return !needed.contains(value.name()); };
  EraseIf(*graph.mutable_initializer(), is_unneeded);
  EraseIf(*graph.mutable_sparse_initializer(), [&](const auto& sparse) { return is_unneeded(sparse.values()); });
  EraseIf(*graph.mutable_input(),
          [&](const auto& input) { return is_unneeded(input) || constants.contains(input.name()); });
  EraseIf(*graph.mutable_value_info(), is_unneeded);
  EraseIf(*graph.mutable_quantization_annotation(),
          [&](const auto& annotation) { return !needed.contains(annotation.tensor_name()); });
  model.clear_training_info();
  EraseIf(*model.mutable_metadata_props(), [&](const auto& entry) { return metadata.contains(entry.key()); });
  KeepCalledFunctions(model);
  return absl::OkStatus();
}

std::vector<std::string> OutputNames(const onnx::ModelProto& model) {
  std::vector<std::string> names;
  for (const auto& output : model.graph().output()) names.push_back(output.name());
  return names;
}

std::string AddLogitsOutput(onnx::ModelProto& model, const std::string& output, const std::string& known_logits) {
  onnx::GraphProto& graph = *model.mutable_graph();
  bool is_known = output == known_logits;
  const auto* producer = FindProducer(graph, output);
  while (producer != nullptr && producer->op_type() == "Identity") {
    is_known |= producer->input(0) == known_logits;
    producer = FindProducer(graph, producer->input(0));
  }
  if (producer == nullptr || !producer->domain().empty()) return is_known ? output : "";
  if (producer->op_type() != "Softmax") return is_known || GivesLogits(*producer) ? output : "";
  for (const auto& attribute : producer->attribute()) {
    const bool is_over_classes = attribute.i() == 1 || attribute.i() == -1;
    if (attribute.name() == "axis" && !is_over_classes) return "";
  }
  const std::string& logits = producer->input(0);
  const auto has_name = [](const std::string& name) {
    return [&name](const auto& value) { return value.name() == name; };
  };
  auto& outputs = *graph.mutable_output();
  if (std::any_of(outputs.begin(), outputs.end(), has_name(logits))) return logits;
  const auto scores = std::find_if(outputs.begin(), outputs.end(), has_name(output));
  const int type = scores == outputs.end() ? 0 : scores->type().tensor_type().elem_type();
  onnx::ValueInfoProto& added = *outputs.Add();
  added.set_name(logits);
  added.mutable_type()->mutable_tensor_type()->set_elem_type(type);  // a Softmax keeps it
  return logits;
}

std::string FindTrainingNode(const onnx::ModelProto& model) {
  for (const auto& node : model.graph().node()) {
    const bool is_told = node.op_type() == "Dropout" && node.input_size() > 2 && !node.input(2).empty();
    const bool states = std::any_of(node.attribute().begin(), node.attribute().end(), [](const auto& attribute) {
      return attribute.name() == "training_mode" && attribute.i() != 0;
    });
    if (is_told || states) return absl::StrCat("'", Escaped(node.name()), "' (", Escaped(node.op_type()), ")");
  }
  return "";
}

}  // namespace amp
