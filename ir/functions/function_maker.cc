#include "ir/functions/function_maker.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "google/protobuf/arena.h"
#include "ir/file/model_walk.h"
#include "ir/graph/insert_nodes.h"
#include "ir/schema/operator_table.h"
#include "ir/schema/opset_imports.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

using onnx::FunctionProto;
using onnx::GraphProto;
using onnx::NodeProto;

std::string TypeSuffix(const NodeProto& cast) {
  for (const auto& attribute : cast.attribute()) {
    if (attribute.name() == "to") return absl::StrCat("_to_", DTypeName(static_cast<DType>(attribute.i())));
  }
  return "_cast";
}

}  // namespace

FunctionMaker::FunctionMaker(const InlineOrigins& origins, const CallForms& calls, const Surroundings& around,
                             CallId call, google::protobuf::Arena* arena)
    : origins_(origins),
      calls_(calls),
      around_(around),
      call_(origins.calls[call]),
      call_id_(call),
      call_node_(google::protobuf::Arena::CreateMessage<NodeProto>(arena)),
      original_(origins.functions->functions(call_.function)),
      function_(google::protobuf::Arena::CreateMessage<onnx::FunctionProto>(arena)) {
  call_node_->ParseFromString(call_.node);
  label_ = call_node_->name().empty() ? call_.unnamed_label : call_node_->name();
  for (int i = 0; i < original_.input_size(); ++i) inputs_.try_emplace(original_.input(i), i);
  for (size_t i = 0; i < call_.outputs.size(); ++i) call_outputs_.try_emplace(call_.outputs[i], static_cast<int>(i));
}

void FunctionMaker::Make(const Nodes& nodes, const NameSet& live) {
  Declare(nodes);
  BindInputs(nodes);
  NameValues(nodes);
  ListOutputs(nodes, live);
  EmbedTensors();
  for (NodeProto* node : nodes) {
    NodeProto* made = function_->add_node();
    made->Swap(node);
    Rename(*made);
  }
  Finish();
}

std::string FunctionMaker::Key() const {
  std::string key = function_->SerializeAsString();
  if (has_converted_) absl::StrAppend(&key, "#", call_id_.index());  // two that look alike may have different data
  return key;
}

void FunctionMaker::WriteCall(const std::string& name, NodeProto* call, NodeForm* origin) const {
  StartCall(call);
  call->set_op_type(name);
  std::vector<std::string> outputs;
  for (const auto& [inner, value] : outputs_) {
    const auto at = static_cast<size_t>(call_outputs_.at(inner));
    outputs.push_back(at < origin->outputs.size() ? origin->outputs[at] : "");
    call->add_output(value);
  }
  origin->outputs = std::move(outputs);
  origin->inputs.resize(static_cast<size_t>(original_.input_size()));
  for (const std::string& hint : extra_hints_) {  // what the caller read there is what it passed for that input
    origin->inputs.push_back(hint.empty() ? "" : origin->inputs[static_cast<size_t>(inputs_.at(hint))]);
  }
  for (const std::string& value : extra_outputs_) call->add_output(value);
  if (!uses_attributes_) call->clear_attribute();
}

void FunctionMaker::WriteOriginalCall(NodeProto* call) const {
  StartCall(call);
  const absl::flat_hash_map<std::string, std::string> values(outputs_.begin(), outputs_.end());
  for (int i = 0; i < call_node_->output_size(); ++i) {
    const auto it = values.find(call_.outputs[static_cast<size_t>(i)]);
    call->add_output(it == values.end() || call_node_->output(i).empty() ? std::string() : it->second);
  }
}

const NodeForm* FunctionMaker::Find(const NodeProto& node) const {
  if (const auto it = calls_.find(node.name()); it != calls_.end()) return &it->second;
  const auto it = origins_.nodes.find(node.name());
  return it == origins_.nodes.end() ? nullptr : it->second.form;
}

std::string FunctionMaker::WithoutLabel(const std::string& name, absl::string_view otherwise) const {
  absl::string_view rest = name;
  const bool has_label = absl::ConsumePrefix(&rest, label_ + "/") && !rest.empty();
  return std::string(has_label ? rest : otherwise);
}

void FunctionMaker::Declare(const Nodes& nodes) {
  for (const NodeProto* node : nodes) {
    for (const std::string& name : node->output()) inner_[name];
    ForEachDefinitionInBodies(*node, [&](const std::string& name) { inner_[name]; });
  }
  for (const std::string& name : original_.input()) names_.Take(name);
}

std::string FunctionMaker::HintOf(const NodeForm* origin, int port) const {
  if (origin != nullptr && port < static_cast<int>(origin->inputs.size())) {
    const std::string& name = origin->inputs[static_cast<size_t>(port)];
    if (inputs_.contains(name)) return name;
  }
  return "";
}

void FunctionMaker::BindRead(const std::string& value, const std::string& hint) {
  if (value.empty() || inner_.contains(value) || reads_.contains(Hint(value, hint))) return;
  if (hint.empty()) {
    unhinted_.push_back(value);
  } else if (bound_.try_emplace(hint, value).first->second == value) {
    reads_[Hint(value, hint)] = hint;
  } else {
    AddInput(value, hint);
  }
}

void FunctionMaker::AddInput(const std::string& value, const std::string& hint) {
  std::string& name = reads_[Hint(value, hint)];
  name = names_.Make(hint.empty() ? "input" : hint);
  extra_inputs_.push_back({name, value});
  extra_input_of_.try_emplace(value, name);
  extra_hints_.push_back(hint);
}

void FunctionMaker::BindUnhinted(const std::string& value) {
  std::string& name = reads_[Hint(value, "")];
  if (!name.empty()) return;
  for (const int i : inputs_for_[value]) {
    const std::string& input = original_.input(i);
    if (bound_.try_emplace(input, value).first->second != value) continue;
    name = input;
    return;
  }
  if (const auto it = extra_input_of_.find(value); it != extra_input_of_.end()) {
    name = it->second;
    return;
  }
  if (!around_.new_tensors.contains(value)) return AddInput(value, "");
  name = names_.Make(WithoutLabel(value, "constant"));
  embedded_.push_back(value);
}

void FunctionMaker::BindInputs(const Nodes& nodes) {
  const auto for_each_read = [&](const auto& visit) {
    for (const NodeProto* node : nodes) ForEachHintedRead(*node, visit);
  };
  // A value that the call passed keeps its input if it is still read anywhere.
  for_each_read([&](const std::string& value, const std::string& hint) {
    const auto at = inputs_.find(hint);
    if (at == inputs_.end() || at->second >= call_node_->input_size()) return;
    if (call_node_->input(at->second) == value) bound_[hint] = value;
  });
  for_each_read([&](const std::string& value, const std::string& hint) { BindRead(value, hint); });
  for (int i = 0; i < original_.input_size(); ++i) {
    const auto bound = bound_.find(original_.input(i));
    if (bound != bound_.end()) {
      inputs_for_[bound->second].push_back(i);
    } else if (i < call_node_->input_size()) {
      inputs_for_[call_node_->input(i)].push_back(i);
    }
  }
  for (const std::string& value : unhinted_) BindUnhinted(value);
  for (const std::string& name : original_.input()) function_->add_input(name);
  for (const auto& [name, value] : extra_inputs_) {
    (void)value;
    function_->add_input(name);
  }
}

void FunctionMaker::ForEachHintedRead(
    const NodeProto& node, absl::FunctionRef<void(const std::string& value, const std::string& hint)> visit) const {
  const NodeForm* origin = Find(node);
  for (int port = 0; port < node.input_size(); ++port) visit(node.input(port), HintOf(origin, port));
  ForEachBody(node, [&](const GraphProto& graph) {
    for (const auto& inner : graph.node()) ForEachHintedRead(inner, visit);
    for (const auto& output : graph.output()) visit(output.name(), "");
  });
}

void FunctionMaker::NameValues(const Nodes& nodes) {
  for (const NodeProto* node : nodes) NameOutputs(*node);
  for (const NodeProto* node : nodes) NameBodies(*node);
  for (const NodeProto* node : nodes) NameMade(*node);
}

void FunctionMaker::NameOutputs(const NodeProto& node) {
  const NodeForm* origin = Find(node);
  for (int i = 0; origin != nullptr && i < node.output_size(); ++i) {
    if (node.output(i).empty() || i >= static_cast<int>(origin->outputs.size())) continue;
    const std::string& name = origin->outputs[static_cast<size_t>(i)];
    if (!name.empty()) inner_[node.output(i)] = names_.Make(name);
  }
}

void FunctionMaker::NameBodies(const NodeProto& node) {
  ForEachBody(node, [&](const GraphProto& graph) {
    const auto name_it = [&](const std::string& value) {
      const auto it = origins_.values.find(value);
      if (it != origins_.values.end() && inner_[value].empty()) inner_[value] = names_.Make(it->second);
    };
    for (const auto& input : graph.input()) name_it(input.name());
    for (const auto& tensor : graph.initializer()) name_it(tensor.name());
    for (const auto& sparse : graph.sparse_initializer()) name_it(sparse.values().name());
    for (const auto& inner : graph.node()) NameOutputs(inner);
    for (const auto& inner : graph.node()) NameBodies(inner);
  });
}

void FunctionMaker::NameMade(const NodeProto& node) {
  ForEachBody(node, [&](const GraphProto& graph) {
    for (const auto& inner : graph.node()) NameMade(inner);
    const auto name_it = [&](const std::string& value) {
      if (inner_[value].empty()) inner_[value] = names_.Make(WithoutLabel(value, "value"));
    };
    for (const auto& input : graph.input()) name_it(input.name());
    for (const auto& tensor : graph.initializer()) name_it(tensor.name());
    for (const auto& sparse : graph.sparse_initializer()) name_it(sparse.values().name());
  });
  for (const std::string& value : node.output()) {
    if (value.empty() || !inner_[value].empty()) continue;
    const bool is_cast =
        FindOperator(CanonicalDomain(node.domain()), node.op_type()).Has(Role::kPlainCast) && node.input_size() == 1;
    const std::string source = is_cast ? InnerName(node.input(0), "") : "";
    inner_[value] =
        names_.Make(is_cast && !source.empty() ? source + TypeSuffix(node) : WithoutLabel(value, node.op_type()));
  }
}

std::string FunctionMaker::InnerName(const std::string& value, const std::string& hint) const {
  if (value.empty()) return "";
  if (const auto it = inner_.find(value); it != inner_.end()) return it->second;
  auto it = reads_.find(Hint(value, hint));
  if (it == reads_.end()) it = reads_.find(Hint(value, ""));
  return it == reads_.end() ? "" : it->second;
}

void FunctionMaker::ListOutputs(const Nodes& nodes, const NameSet& live) {
  absl::flat_hash_map<std::string, std::string> found;  // the function's name -> value
  for (const NodeProto* node : nodes) {
    const NodeForm* origin = Find(*node);
    for (int i = 0; origin != nullptr && i < node->output_size(); ++i) {
      if (i < static_cast<int>(origin->outputs.size()) && !node->output(i).empty()) {
        found.try_emplace(origin->outputs[static_cast<size_t>(i)], node->output(i));
      }
    }
  }
  NameSet listed;
  for (size_t i = 0; i < call_.outputs.size(); ++i) {
    const auto it = found.find(call_.outputs[i]);
    if (it == found.end() || !listed.insert(it->second).second) continue;
    const bool is_wanted =
        static_cast<int>(i) < call_node_->output_size() && !call_node_->output(static_cast<int>(i)).empty();
    outputs_.push_back({call_.outputs[i], is_wanted || live.contains(it->second) ? it->second : ""});
    function_->add_output(inner_[it->second]);
  }
  for (const NodeProto* node : nodes) {
    for (const std::string& value : node->output()) {
      touches_low_ |= around_.low_values.contains(value);
      if (!live.contains(value) || !listed.insert(value).second) continue;
      extra_outputs_.push_back(value);
      function_->add_output(inner_[value]);
    }
  }
  for (const auto& [hint, unused] : reads_) touches_low_ |= around_.low_values.contains(hint.first);
}

void FunctionMaker::EmbedTensors() {
  for (const std::string& value : embedded_) {
    FillConstant(*function_->add_node(), reads_[Hint(value, "")], *around_.new_tensors.at(value));
  }
}

void FunctionMaker::Rename(NodeProto& node) {
  const NodeForm* origin = Find(node);
  if (around_.weights != nullptr) {
    ForEachMutableTensor(
        node, [&](onnx::TensorProto& tensor) { has_converted_ |= around_.weights->SourceOf(tensor) != nullptr; });
  }
  for (int port = 0; port < node.input_size(); ++port) {
    node.set_input(port, InnerName(node.input(port), HintOf(origin, port)));
  }
  ForEachMutableBody(node, [&](GraphProto& graph) { RenameGraph(graph); });
  for (std::string& name : *node.mutable_output()) name = InnerName(name, "");
  if (origin != nullptr) {
    RestoreReferences(node, *origin);
    node.clear_name();
    if (!origin->name.empty()) node.set_name(origin->name);
  } else if (!node.name().empty() && node.output_size() > 0) {
    inserted_.push_back({node.name(), node.output(0), node.input_size() > 0 ? node.input(0) : ""});
    node.set_name(node.output(0));
  }
}

void FunctionMaker::RenameGraph(GraphProto& graph) {
  for (auto& node : *graph.mutable_node()) Rename(node);
  for (auto& input : *graph.mutable_input()) input.set_name(InnerName(input.name(), ""));
  for (auto& tensor : *graph.mutable_initializer()) tensor.set_name(InnerName(tensor.name(), ""));
  for (auto& sparse : *graph.mutable_sparse_initializer()) {
    sparse.mutable_values()->set_name(InnerName(sparse.values().name(), ""));
  }
  for (auto& output : *graph.mutable_output()) {
    output.set_name(InnerName(output.name(), ""));
  }
  for (auto& info : *graph.mutable_value_info()) info.set_name(InnerName(info.name(), ""));
  for (auto& annotation : *graph.mutable_quantization_annotation()) {
    annotation.set_tensor_name(InnerName(annotation.tensor_name(), ""));
    for (auto& entry : *annotation.mutable_quant_parameter_tensor_names()) {
      entry.set_value(InnerName(entry.value(), ""));
    }
  }
}

const onnx::AttributeProto* FunctionMaker::BoundValue(const std::string& name) const {
  for (const auto* attributes : {&call_node_->attribute(), &original_.attribute_proto()}) {
    for (const auto& attribute : *attributes) {
      if (attribute.name() == name) return &attribute;
    }
  }
  return nullptr;
}

void FunctionMaker::RestoreReferences(NodeProto& node, const NodeForm& origin) {
  for (const auto& reference : origin.references) {
    auto& attributes = *node.mutable_attribute();
    const auto found = std::find_if(attributes.begin(), attributes.end(),
                                    [&](const auto& a) { return a.name() == reference.attribute; });
    const onnx::AttributeProto* bound = BoundValue(reference.to);
    if ((found == attributes.end()) != (bound == nullptr)) continue;
    if (bound != nullptr) {
      onnx::AttributeProto expected = *bound;
      expected.set_name(reference.attribute);
      if (expected.SerializeAsString() != found->SerializeAsString()) continue;
    }
    onnx::AttributeProto& made = bound == nullptr ? *attributes.Add() : *found;
    made.Clear();
    made.set_name(reference.attribute);
    made.set_ref_attr_name(reference.to);
    made.set_type(static_cast<onnx::AttributeProto::AttributeType>(reference.kind));
    uses_attributes_ = true;
  }
}

void FunctionMaker::Finish() {
  function_->set_domain(original_.domain());
  function_->set_overload(original_.overload());
  if (original_.has_doc_string()) function_->set_doc_string(original_.doc_string());
  function_->mutable_metadata_props()->CopyFrom(original_.metadata_props());
  if (uses_attributes_) {
    function_->mutable_attribute()->CopyFrom(original_.attribute());
    function_->mutable_attribute_proto()->CopyFrom(original_.attribute_proto());
  }
  ImportDomains();
}

void FunctionMaker::ImportDomains() {
  std::vector<std::pair<std::string, int64_t>> wanted;
  const auto import = [&](absl::string_view domain, int64_t version) {
    const std::string name(CanonicalDomain(domain));
    for (const auto& known : wanted) {
      if (known.first == name) return;
    }
    const int64_t of_model = ImportedVersion(*around_.model, domain);
    wanted.emplace_back(name, of_model == 0 ? version : of_model);
  };
  for (const auto& own : original_.opset_import()) import(own.domain(), own.version());
  ForEachNodeWithin(function_->node(), [&](const NodeProto& node) { import(node.domain(), 1); });
  for (const auto& [domain, version] : wanted) {
    auto* made = function_->add_opset_import();
    made->set_domain(domain);
    made->set_version(version);
  }
}

void FunctionMaker::StartCall(NodeProto* call) const {
  call->CopyFrom(*call_node_);
  call->clear_input();
  call->clear_output();
  for (int i = 0; i < original_.input_size(); ++i) {
    const std::string& name = original_.input(i);
    std::string value = i < call_node_->input_size() ? call_node_->input(i) : "";
    if (const auto it = bound_.find(name); it != bound_.end()) {
      value = it->second;
    } else if (!around_.values.empty() && !around_.values.contains(value)) {
      value.clear();  // nobody reads it, and it is gone
    }
    call->add_input(value);
  }
  for (const auto& [inner, value] : extra_inputs_) {
    (void)inner;
    call->add_input(value);
  }
  auto& inputs = *call->mutable_input();
  while (inputs.size() > call_node_->input_size() && inputs.rbegin()->empty()) inputs.RemoveLast();
  if (call->name().empty()) call->set_name(label_);  // the function's name may change, what users call it not
}

}  // namespace amp
