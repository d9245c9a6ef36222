#include "ir/outline_functions.h"

#include <algorithm>
#include <map>
#include <queue>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "google/protobuf/arena.h"
#include "ir/check.h"
#include "ir/inline_functions.h"
#include "ir/inline_origins.h"
#include "ir/inline_plan.h"
#include "ir/operator_facts.h"
#include "ir/opset_imports.h"
#include "ir/schema.h"
#include "ir/status.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

using onnx::FunctionProto;
using onnx::GraphProto;
using onnx::NodeProto;
using Nodes = std::vector<NodeProto*>;
using NameSet = absl::flat_hash_set<std::string>;
using NameCounts = absl::flat_hash_map<std::string, int>;

// Visits the names of all values that a node reads, in its bodies too; what bodies define themselves is among them.
template <typename Visit>
void ForEachRead(const NodeProto& node, const Visit& visit) {
  for (const std::string& name : node.input()) visit(name);
  for (const auto& attribute : node.attribute()) {
    const auto in_graph = [&](const GraphProto& graph) {
      for (const auto& inner : graph.node()) ForEachRead(inner, visit);
      for (const auto& output : graph.output()) visit(output.name());
    };
    if (attribute.has_g()) in_graph(attribute.g());
    for (const auto& graph : attribute.graphs()) in_graph(graph);
  }
}

// Visits the names of all values that a node's bodies define, and its own outputs last.
template <typename Visit>
void ForEachInnerDefinition(const NodeProto& node, const Visit& visit) {
  for (const auto& attribute : node.attribute()) {
    const auto in_graph = [&](const GraphProto& graph) {
      for (const auto& input : graph.input()) visit(input.name());
      for (const auto& tensor : graph.initializer()) visit(tensor.name());
      for (const auto& sparse : graph.sparse_initializer()) visit(sparse.values().name());
      for (const auto& inner : graph.node()) {
        for (const std::string& name : inner.output()) visit(name);
        ForEachInnerDefinition(inner, visit);
      }
    };
    if (attribute.has_g()) in_graph(attribute.g());
    for (const auto& graph : attribute.graphs()) in_graph(graph);
  }
}

template <typename Visit>
void ForEachTensorOf(NodeProto& node, const Visit& visit) {
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_t()) visit(*attribute.mutable_t());
    for (auto& tensor : *attribute.mutable_tensors()) visit(tensor);
    const auto in_graph = [&](GraphProto& graph) {
      for (auto& tensor : *graph.mutable_initializer()) visit(tensor);
      for (auto& inner : *graph.mutable_node()) ForEachTensorOf(inner, visit);
    };
    if (attribute.has_g()) in_graph(*attribute.mutable_g());
    for (auto& graph : *attribute.mutable_graphs()) in_graph(graph);
  }
}

std::string TypeSuffix(const NodeProto& cast) {
  for (const auto& attribute : cast.attribute()) {
    if (attribute.name() == "to") return absl::StrCat("_to_", DTypeName(static_cast<DType>(attribute.i())));
  }
  return "_cast";
}

// Names inside one function.
class InnerNames {
 public:
  bool Reserve(const std::string& name) { return taken_.insert(name).second; }
  std::string Unique(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 1; !taken_.insert(name).second; ++i) name = absl::StrCat(wanted, "_", i);
    return name;
  }

 private:
  NameSet taken_;
};

// What of the model a function's making depends on. Right after inlining: nothing.
struct Surroundings {
  const onnx::ModelProto* model = nullptr;
  absl::flat_hash_map<std::string, int> calls;                             // of inserted nodes, by name
  absl::flat_hash_map<std::string, const onnx::TensorProto*> new_tensors;  // initializers that lifting made
  NameSet values;                                                          // that are not the work of the rewrite
  NameSet low_values;
  PendingTensors* pending = nullptr;
};

// One call's nodes on their way into a function.
class FunctionMaker {
 public:
  using CallOrigins = absl::flat_hash_map<std::string, InlinedNode>;  // by name
  // `calls`: what inner calls, which were made already, are in the names of this function.
  FunctionMaker(const InlineOrigins& origins, const CallOrigins& calls, const Surroundings& around, int call,
                google::protobuf::Arena* arena)
      : origins_(origins),
        calls_(calls),
        around_(around),
        call_(origins.calls[static_cast<size_t>(call)]),
        call_id_(call),
        original_(origins.functions->functions(call_.function)),
        function_(google::protobuf::Arena::CreateMessage<FunctionProto>(arena)) {}

  // Takes the nodes' contents. `live`: what is read outside of them.
  void Make(const Nodes& nodes, const NameSet& live) {
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

  FunctionProto* function() { return function_; }
  // All that matters of the function but its name.
  std::string Key() const {
    std::string key = function_->SerializeAsString();
    if (has_pending_) absl::StrAppend(&key, "#", call_id_);  // two that look alike may have different data
    return key;
  }
  bool touches_low() const { return touches_low_; }
  bool has_extra_ports() const { return !extra_inputs_.empty() || !extra_outputs_.empty(); }

  // The call of what was made, in the model's names. `origin`: of the call; its outputs follow.
  void WriteCall(const std::string& name, NodeProto* call, InlinedNode* origin) const {
    StartCall(call);
    call->set_op_type(name);
    std::vector<std::string> outputs;
    for (const auto& [inner, value] : outputs_) {
      const auto at = std::find(call_.outputs.begin(), call_.outputs.end(), inner) - call_.outputs.begin();
      outputs.push_back(at < static_cast<int64_t>(origin->outputs.size()) ? origin->outputs[static_cast<size_t>(at)]
                                                                          : "");
      call->add_output(value);
    }
    origin->outputs = std::move(outputs);
    origin->inputs.resize(static_cast<size_t>(original_.input_size()));
    for (const std::string& hint : extra_hints_) {  // what the caller read there is what it passed for that input
      const auto at = std::find(original_.input().begin(), original_.input().end(), hint) - original_.input().begin();
      origin->inputs.push_back(hint.empty() ? "" : origin->inputs[static_cast<size_t>(at)]);
    }
    for (const std::string& value : extra_outputs_) call->add_output(value);
    if (!uses_attributes_) call->clear_attribute();
  }
  // The call of the original function.
  void WriteOriginalCall(NodeProto* call) const {
    StartCall(call);
    for (int i = 0; i < call_.node->output_size(); ++i) {
      const auto it = std::find_if(outputs_.begin(), outputs_.end(), [&](const auto& output) {
        return output.first == call_.outputs[static_cast<size_t>(i)];
      });
      call->add_output(it == outputs_.end() || call_.node->output(i).empty() ? std::string() : it->second);
    }
  }

 private:
  using Hint = std::pair<std::string, std::string>;  // value, input of the function that was read there

  const InlinedNode* Find(const NodeProto& node) const {
    if (const auto it = calls_.find(node.name()); it != calls_.end()) return &it->second;
    const auto it = origins_.nodes.find(node.name());
    return it == origins_.nodes.end() ? nullptr : &it->second;
  }

  std::string WithoutLabel(const std::string& name, absl::string_view otherwise) const {
    absl::string_view rest = name;
    const bool has_label = absl::ConsumePrefix(&rest, call_.label + "/") && !rest.empty();
    return std::string(has_label ? rest : otherwise);
  }

  bool IsInput(const std::string& name) const {
    return std::find(original_.input().begin(), original_.input().end(), name) != original_.input().end();
  }

  void Declare(const Nodes& nodes) {
    for (const NodeProto* node : nodes) {
      for (const std::string& name : node->output()) inner_[name];
      ForEachInnerDefinition(*node, [&](const std::string& name) { inner_[name]; });
    }
    for (const std::string& name : original_.input()) names_.Reserve(name);
  }

  // Which input of the function a read stands for; "" where that cannot be told.
  std::string HintOf(const InlinedNode* origin, int port) const {
    if (origin != nullptr && port < static_cast<int>(origin->inputs.size())) {
      const std::string& name = origin->inputs[static_cast<size_t>(port)];
      if (IsInput(name)) return name;
    }
    return "";
  }

  void BindRead(const std::string& value, const std::string& hint) {
    if (value.empty() || inner_.contains(value) || reads_.contains(Hint(value, hint))) return;
    if (hint.empty()) {
      unhinted_.push_back(value);
    } else if (bound_.try_emplace(hint, value).first->second == value) {
      reads_[Hint(value, hint)] = hint;
    } else {
      AddInput(value, hint);
    }
  }
  void AddInput(const std::string& value, const std::string& hint) {
    std::string& name = reads_[Hint(value, hint)];
    name = names_.Unique(hint.empty() ? "input" : hint);
    extra_inputs_.push_back({name, value});
    extra_hints_.push_back(hint);
  }
  // A read of something that the function did not read there: an input all the same if it is known as one.
  void BindUnhinted(const std::string& value) {
    std::string& name = reads_[Hint(value, "")];
    if (!name.empty()) return;
    for (int i = 0; i < original_.input_size(); ++i) {
      const std::string& input = original_.input(i);
      const bool is_passed = i < call_.node->input_size() && call_.node->input(i) == value;
      const auto it = is_passed ? bound_.try_emplace(input, value).first : bound_.find(input);
      if (it == bound_.end() || it->second != value) continue;
      name = input;
      return;
    }
    for (const auto& [input, of_extra] : extra_inputs_) {
      if (of_extra != value) continue;
      name = input;
      return;
    }
    if (!around_.new_tensors.contains(value)) return AddInput(value, "");
    name = names_.Unique(WithoutLabel(value, "constant"));
    embedded_.push_back(value);
  }

  void BindInputs(const Nodes& nodes) {
    for (const NodeProto* node : nodes) BindReadsOf(*node);
    for (const std::string& value : unhinted_) BindUnhinted(value);
    for (const std::string& name : original_.input()) function_->add_input(name);
    for (const auto& [name, value] : extra_inputs_) {
      (void)value;
      function_->add_input(name);
    }
  }
  void BindReadsOf(const NodeProto& node) {
    const InlinedNode* origin = Find(node);
    for (int port = 0; port < node.input_size(); ++port) {
      BindRead(node.input(port), HintOf(origin, port));
    }
    for (const auto& attribute : node.attribute()) {
      const auto in_graph = [&](const GraphProto& graph) {
        for (const auto& inner : graph.node()) BindReadsOf(inner);
        for (const auto& output : graph.output()) BindRead(output.name(), "");
      };
      if (attribute.has_g()) in_graph(attribute.g());
      for (const auto& graph : attribute.graphs()) in_graph(graph);
    }
  }

  // First what had a name in the original, outside in, then the rest in order.
  void NameValues(const Nodes& nodes) {
    for (const NodeProto* node : nodes) NameOutputs(*node);
    for (const NodeProto* node : nodes) NameBodies(*node);
    for (const NodeProto* node : nodes) NameMade(*node);
  }
  void NameOutputs(const NodeProto& node) {
    const InlinedNode* origin = Find(node);
    for (int i = 0; origin != nullptr && i < node.output_size(); ++i) {
      if (node.output(i).empty() || i >= static_cast<int>(origin->outputs.size())) continue;
      const std::string& name = origin->outputs[static_cast<size_t>(i)];
      if (!name.empty()) inner_[node.output(i)] = names_.Unique(name);
    }
  }
  template <typename Visit>
  static void ForEachGraph(const NodeProto& node, const Visit& visit) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) visit(attribute.g());
      for (const auto& graph : attribute.graphs()) visit(graph);
    }
  }
  void NameBodies(const NodeProto& node) {
    ForEachGraph(node, [&](const GraphProto& graph) {
      const auto name_it = [&](const std::string& value) {
        const auto it = origins_.values.find(value);
        if (it != origins_.values.end() && inner_[value].empty()) inner_[value] = names_.Unique(it->second);
      };
      for (const auto& input : graph.input()) name_it(input.name());
      for (const auto& tensor : graph.initializer()) name_it(tensor.name());
      for (const auto& sparse : graph.sparse_initializer()) name_it(sparse.values().name());
      for (const auto& inner : graph.node()) NameOutputs(inner);
      for (const auto& inner : graph.node()) NameBodies(inner);
    });
  }
  void NameMade(const NodeProto& node) {
    ForEachGraph(node, [&](const GraphProto& graph) {
      for (const auto& inner : graph.node()) NameMade(inner);
      const auto name_it = [&](const std::string& value) {
        if (inner_[value].empty()) inner_[value] = names_.Unique(WithoutLabel(value, "value"));
      };
      for (const auto& input : graph.input()) name_it(input.name());
      for (const auto& tensor : graph.initializer()) name_it(tensor.name());
      for (const auto& sparse : graph.sparse_initializer()) name_it(sparse.values().name());
    });
    for (const std::string& value : node.output()) {
      if (value.empty() || !inner_[value].empty()) continue;
      const bool is_cast = node.op_type() == "Cast" && node.input_size() == 1;
      const std::string source = is_cast ? InnerName(node.input(0), "") : "";
      inner_[value] =
          names_.Unique(is_cast && !source.empty() ? source + TypeSuffix(node) : WithoutLabel(value, node.op_type()));
    }
  }

  std::string InnerName(const std::string& value, const std::string& hint) const {
    if (value.empty()) return "";
    if (const auto it = inner_.find(value); it != inner_.end()) return it->second;
    auto it = reads_.find(Hint(value, hint));
    if (it == reads_.end()) it = reads_.find(Hint(value, ""));
    return it == reads_.end() ? "" : it->second;
  }

  void ListOutputs(const Nodes& nodes, const NameSet& live) {
    absl::flat_hash_map<std::string, std::string> found;  // the function's name -> value
    for (const NodeProto* node : nodes) {
      const InlinedNode* origin = Find(*node);
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
          static_cast<int>(i) < call_.node->output_size() && !call_.node->output(static_cast<int>(i)).empty();
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

  void EmbedTensors() {
    for (const std::string& value : embedded_) {
      NodeProto* node = function_->add_node();
      node->set_op_type("Constant");
      node->add_output(reads_[Hint(value, "")]);
      auto* attribute = node->add_attribute();
      attribute->set_name("value");
      attribute->set_type(onnx::AttributeProto::TENSOR);
      attribute->mutable_t()->CopyFrom(*around_.new_tensors.at(value));
      attribute->mutable_t()->clear_name();
    }
  }

  void Rename(NodeProto& node) {
    const InlinedNode* origin = Find(node);
    if (around_.pending != nullptr) {
      ForEachTensorOf(node, [&](onnx::TensorProto& tensor) { has_pending_ |= around_.pending->contains(&tensor); });
    }
    for (int port = 0; port < node.input_size(); ++port) {
      node.set_input(port, InnerName(node.input(port), HintOf(origin, port)));
    }
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) RenameGraph(*attribute.mutable_g());
      for (auto& graph : *attribute.mutable_graphs()) RenameGraph(graph);
    }
    for (std::string& name : *node.mutable_output()) name = InnerName(name, "");
    if (origin != nullptr) {
      RestoreReferences(node, *origin);
      node.clear_name();
      if (!origin->name.empty()) node.set_name(origin->name);
    } else if (!node.name().empty() && node.output_size() > 0) {
      node.set_name(node.output(0));
    }
  }

  void RenameGraph(GraphProto& graph) {
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

  const onnx::AttributeProto* BoundValue(const std::string& name) const {
    for (const auto* attributes : {&call_.node->attribute(), &original_.attribute_proto()}) {
      for (const auto& attribute : *attributes) {
        if (attribute.name() == name) return &attribute;
      }
    }
    return nullptr;
  }

  // An attribute that still has the value that the call passed refers to it again.
  void RestoreReferences(NodeProto& node, const InlinedNode& origin) {
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

  void Finish() {
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

  // The function's own imports at the model's versions, and what its nodes need beyond them.
  void ImportDomains() {
    std::vector<std::pair<std::string, int64_t>> wanted;
    const auto import = [&](absl::string_view domain, int64_t version) {
      const std::string name(CanonicalDomain(domain));
      for (const auto& known : wanted) {
        if (known.first == name) return;
      }
      for (const auto& of_model : around_.model->opset_import()) {
        if (CanonicalDomain(of_model.domain()) == name) version = of_model.version();
      }
      wanted.emplace_back(name, version);
    };
    for (const auto& own : original_.opset_import()) import(own.domain(), own.version());
    ForEachNodeWithin(function_->node(), [&](const NodeProto& node) { import(node.domain(), 1); });
    for (const auto& [domain, version] : wanted) {
      auto* made = function_->add_opset_import();
      made->set_domain(domain);
      made->set_version(version);
    }
  }

  void StartCall(NodeProto* call) const {
    call->CopyFrom(*call_.node);
    call->clear_input();
    call->clear_output();
    for (int i = 0; i < original_.input_size(); ++i) {
      const std::string& name = original_.input(i);
      std::string value = i < call_.node->input_size() ? call_.node->input(i) : "";
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
    while (inputs.size() > call_.node->input_size() && inputs.rbegin()->empty()) inputs.RemoveLast();
    if (call->name().empty()) call->set_name(call_.label);  // the function's name may change, what users call it not
  }

  const InlineOrigins& origins_;
  const CallOrigins& calls_;
  const Surroundings& around_;
  const CallOrigin& call_;
  int call_id_;
  const FunctionProto& original_;
  FunctionProto* function_;
  InnerNames names_;
  std::map<std::string, std::string> inner_;             // what the nodes define: value -> the function's name
  std::map<Hint, std::string> reads_;                    // what they read from outside: -> the function's name
  absl::flat_hash_map<std::string, std::string> bound_;  // input of the function -> value
  std::vector<std::pair<std::string, std::string>> extra_inputs_;  // the function's name, value
  std::vector<std::pair<std::string, std::string>> outputs_;       // the original's name, value ("": nobody wants it)
  std::vector<std::string> extra_hints_, extra_outputs_, embedded_, unhinted_;
  bool uses_attributes_ = false, touches_low_ = false, has_pending_ = false;
};

class Outliner {
 public:
  enum class Phase { kBefore, kAfter };
  Outliner(const InlineOrigins& origins, const Surroundings& around, Phase phase, google::protobuf::Arena* arena)
      : origins_(origins), around_(around), phase_(phase), arena_(arena), bodies_(origins.calls.size()) {
    for (const auto& function : origins.functions->functions())
      names_.insert(NameKey(function.domain(), function.name()));
  }

  absl::Status CollapseGraph(GraphProto& graph, int current) {
    Nodes nodes(static_cast<size_t>(graph.node_size()));
    graph.mutable_node()->UnsafeArenaExtractSubrange(0, graph.node_size(), nodes.data());
    NameSet live;
    for (const auto& output : graph.output()) live.insert(output.name());
    AMP_ASSIGN_OR_RETURN(nodes, Collapse(std::move(nodes), current, live));
    for (NodeProto* node : nodes) graph.mutable_node()->UnsafeArenaAddAllocated(node);
    return absl::OkStatus();
  }

  std::vector<std::string>& bodies() { return bodies_; }
  const std::vector<FunctionProto*>& made() const { return made_; }
  const OutlinedFunctions& record() const { return record_; }

 private:
  struct Group {
    int call;
    Nodes nodes;
    NameCounts reads;
    int place;  // of the first node
  };

  int CallOf(const NodeProto& node) const {
    if (const auto it = origins_.nodes.find(node.name()); it != origins_.nodes.end()) return it->second.call;
    if (const auto it = around_.calls.find(node.name()); it != around_.calls.end()) return it->second;
    return -1;
  }
  // The call right below `current` that `call` is part of.
  int ChildOf(int current, int call) const {
    while (call >= 0 && origins_.calls[static_cast<size_t>(call)].parent != current) {
      call = origins_.calls[static_cast<size_t>(call)].parent;
    }
    return call;
  }

  // The message that the model's structs point to stays as it is.
  NodeProto* Copy(NodeProto* node) const {
    auto* copy = google::protobuf::Arena::CreateMessage<NodeProto>(arena_);
    copy->CopyFrom(*node);
    if (around_.pending == nullptr) return copy;
    std::vector<const onnx::TensorProto*> tensors;
    ForEachTensorOf(*node, [&](onnx::TensorProto& tensor) { tensors.push_back(&tensor); });
    size_t at = 0;
    ForEachTensorOf(*copy, [&](onnx::TensorProto& tensor) {
      if (auto it = around_.pending->find(tensors[at++]); it != around_.pending->end()) {
        const PendingTensor pending = it->second;
        around_.pending->emplace(&tensor, pending);
      }
    });
    return copy;
  }

  absl::StatusOr<Nodes> Collapse(Nodes nodes, int current, const NameSet& live) {
    std::vector<Group> groups;
    absl::flat_hash_map<int, size_t> group_of;
    Nodes result;
    std::vector<int> places;  // of the nodes in the result, for the order
    NameCounts reads;
    for (size_t i = 0; i < nodes.size(); ++i) {
      NodeProto* node = nodes[i];
      ForEachRead(*node, [&](const std::string& name) { ++reads[name]; });
      const int call = CallOf(*node);
      if (call == current) {
        for (auto& attribute : *node->mutable_attribute()) {
          if (attribute.has_g()) AMP_RETURN_IF_ERROR(CollapseGraph(*attribute.mutable_g(), current));
          for (auto& graph : *attribute.mutable_graphs()) AMP_RETURN_IF_ERROR(CollapseGraph(graph, current));
        }
        result.push_back(node);
        places.push_back(static_cast<int>(i));
        continue;
      }
      const int child = ChildOf(current, call);
      if (child < 0)
        return absl::InternalError(absl::StrCat("node '", Escaped(node->name()), "' is in a foreign call"));
      const auto [it, is_new] = group_of.try_emplace(child, groups.size());
      if (is_new) groups.push_back({child, {}, {}, static_cast<int>(i)});
      Group& group = groups[it->second];
      group.nodes.push_back(current < 0 ? Copy(node) : node);
      ForEachRead(*node, [&](const std::string& name) { ++group.reads[name]; });
    }
    if (groups.empty()) return result;
    for (Group& group : groups) {
      AMP_ASSIGN_OR_RETURN(NodeProto * call, MakeCall(group, reads, live));
      result.push_back(call);
      places.push_back(group.place);
    }
    return Sorted(result, places);
  }

  absl::StatusOr<NodeProto*> MakeCall(Group& group, const NameCounts& reads, const NameSet& live) {
    NameSet live_here;
    for (const NodeProto* node : group.nodes) {
      for (const std::string& name : node->output()) {
        const auto all = reads.find(name);
        const auto own = group.reads.find(name);
        const int elsewhere = (all == reads.end() ? 0 : all->second) - (own == group.reads.end() ? 0 : own->second);
        if (elsewhere > 0 || live.contains(name)) live_here.insert(name);
      }
    }
    AMP_ASSIGN_OR_RETURN(const Nodes nodes, Collapse(std::move(group.nodes), group.call, live_here));
    FunctionMaker maker(origins_, calls_, around_, group.call, arena_);
    maker.Make(nodes, live_here);
    auto* call = google::protobuf::Arena::CreateMessage<NodeProto>(arena_);
    const CallOrigin& origin = origins_.calls[static_cast<size_t>(group.call)];
    const FunctionProto& original = origins_.functions->functions(origin.function);
    InlinedNode made;
    if (origin.parent >= 0) made = origins_.nodes.at(origin.node->name());
    if (phase_ == Phase::kBefore) {
      bodies_[static_cast<size_t>(group.call)] = maker.Key();
      maker.WriteOriginalCall(call);
    } else if (maker.Key() == Body(origin, *maker.function()) && StillValid(original, maker)) {
      maker.WriteOriginalCall(call);
      ++record_.num_unchanged;
    } else {
      maker.WriteCall(NameFor(maker, original), call, &made);
      ++record_.num_calls;
    }
    calls_[call->name()] = std::move(made);
    return call;
  }

  // The body right after inlining, at the versions that the model imports now.
  static std::string Body(const CallOrigin& call, const FunctionProto& now) {
    FunctionProto before;
    before.ParseFromString(call.body);
    before.mutable_opset_import()->CopyFrom(now.opset_import());
    return before.SerializeAsString();
  }

  bool StillValid(const FunctionProto& original, const FunctionMaker& maker) const {
    if (original.value_info_size() > 0 && maker.touches_low()) return false;  // it tells types
    bool valid = true;
    ForEachNodeWithin(original.node(), [&](const NodeProto& node) {
      const absl::string_view domain = CanonicalDomain(node.domain());
      int64_t own = 0, models = 0;
      for (const auto& import : original.opset_import())
        own = CanonicalDomain(import.domain()) == domain ? import.version() : own;
      for (const auto& import : around_.model->opset_import()) {
        models = CanonicalDomain(import.domain()) == domain ? import.version() : models;
      }
      if (own == models || own > INT32_MAX || models > INT32_MAX) return;
      valid &= FindOpSchema(domain, node.op_type(), static_cast<int>(own)) ==
               FindOpSchema(domain, node.op_type(), static_cast<int>(models));
    });
    return valid;
  }

  std::string NameFor(FunctionMaker& maker, const FunctionProto& original) {
    const std::string key = absl::StrCat(original.domain(), "\n", original.name(), "\n", maker.Key());
    std::string& name = by_body_[key];
    if (!name.empty()) return name;
    int64_t opset = 0;
    for (const auto& import : around_.model->opset_import()) {
      if (CanonicalDomain(import.domain()).empty()) opset = import.version();
    }
    const std::string wanted =
        absl::StrCat(original.name(), maker.touches_low() ? "_low" : absl::StrCat("_opset", opset));
    name = wanted;
    for (int i = 1; !names_.insert(NameKey(original.domain(), name)).second; ++i) name = absl::StrCat(wanted, "_", i);
    maker.function()->set_name(name);
    made_.push_back(maker.function());
    record_.functions.push_back(original.domain().empty() ? name : absl::StrCat(original.domain(), "::", name));
    record_.originals[record_.functions.back()] = {std::string(CanonicalDomain(original.domain())), original.name()};
    return name;
  }

  static std::string NameKey(absl::string_view domain, absl::string_view name) {
    return absl::StrCat(CanonicalDomain(domain), "\n", name);
  }

  // Topological; among those that are ready, the one with the lowest place comes first.
  static absl::StatusOr<Nodes> Sorted(const Nodes& nodes, const std::vector<int>& places) {
    absl::flat_hash_map<std::string, size_t> producer;
    for (size_t i = 0; i < nodes.size(); ++i) {
      for (const std::string& name : nodes[i]->output()) {
        if (!name.empty()) producer[name] = i;
      }
    }
    std::vector<std::vector<size_t>> readers(nodes.size());
    std::vector<int> waiting(nodes.size(), 0);
    for (size_t i = 0; i < nodes.size(); ++i) {
      ForEachRead(*nodes[i], [&](const std::string& name) {
        const auto it = producer.find(name);
        if (it == producer.end() || it->second == i) return;
        readers[it->second].push_back(i);
        ++waiting[i];
      });
    }
    using Place = std::pair<int, size_t>;
    std::priority_queue<Place, std::vector<Place>, std::greater<>> ready;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (waiting[i] == 0) ready.push({places[i], i});
    }
    Nodes sorted;
    while (!ready.empty()) {
      const size_t next = ready.top().second;
      ready.pop();
      sorted.push_back(nodes[next]);
      for (const size_t reader : readers[next]) {
        if (--waiting[reader] == 0) ready.push({places[reader], reader});
      }
    }
    if (sorted.size() != nodes.size()) return absl::InternalError("functions that were outlined depend on each other");
    return sorted;
  }

  const InlineOrigins& origins_;
  const Surroundings& around_;
  Phase phase_;
  google::protobuf::Arena* arena_;
  std::vector<std::string> bodies_;
  NameSet names_;
  std::map<std::string, std::string> by_body_;
  FunctionMaker::CallOrigins calls_;
  std::vector<FunctionProto*> made_;
  OutlinedFunctions record_;
};

template <typename Visit>
void ForEachGraphWithin(GraphProto& graph, const Visit& visit) {
  visit(graph);
  for (auto& node : *graph.mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) ForEachGraphWithin(*attribute.mutable_g(), visit);
      for (auto& body : *attribute.mutable_graphs()) ForEachGraphWithin(body, visit);
    }
  }
}

int Depth(const InlineOrigins& origins, int call) {
  int depth = 0;
  for (; call >= 0; call = origins.calls[static_cast<size_t>(call)].parent) ++depth;
  return depth;
}

// The innermost call that holds both; -1 for the main graph.
int CommonCall(const InlineOrigins& origins, int a, int b) {
  int depth_a = Depth(origins, a), depth_b = Depth(origins, b);
  const auto up = [&](int call) { return origins.calls[static_cast<size_t>(call)].parent; };
  for (; depth_a > depth_b; --depth_a) a = up(a);
  for (; depth_b > depth_a; --depth_b) b = up(b);
  while (a != b) {
    a = up(a);
    b = up(b);
  }
  return a;
}

int CallOfGraph(const Model& model, GraphId graph) {
  const NodeId owner = model.graph(graph).owner;
  return owner == kNone ? -1 : model.node(owner).call;
}

int CallOfUse(const Model& model, const Use& use) {
  return use.IsGraphOutput() ? CallOfGraph(model, use.graph) : model.node(use.node).call;
}

// Not outside of the call whose body the node is in.
int Within(const Model& model, const InlineOrigins& origins, NodeId node, int call) {
  const int home = CallOfGraph(model, model.node(node).graph);
  return CommonCall(origins, home, call) == home ? call : home;
}

// Unread initializers that lifting made go, and so does value_info of what is inside functions now.
void CleanUp(onnx::ModelProto& model, const Surroundings& around) {
  NameSet read;
  for (const auto& node : model.graph().node()) {
    ForEachRead(node, [&](const std::string& name) { read.insert(name); });
  }
  for (const auto& output : model.graph().output()) read.insert(output.name());
  ForEachGraphWithin(*model.mutable_graph(), [&](GraphProto& graph) {
    auto& tensors = *graph.mutable_initializer();
    int write = 0;
    for (int i = 0; i < tensors.size(); ++i) {
      if (around.new_tensors.contains(tensors[i].name()) && !read.contains(tensors[i].name())) continue;
      tensors.SwapElements(write++, i);
    }
    tensors.DeleteSubrange(write, tensors.size() - write);
    NameSet defined;
    for (const auto& input : graph.input()) defined.insert(input.name());
    for (const auto& tensor : tensors) defined.insert(tensor.name());
    for (const auto& node : graph.node()) defined.insert(node.output().begin(), node.output().end());
    auto& infos = *graph.mutable_value_info();
    write = 0;
    for (int i = 0; i < infos.size(); ++i) {
      if (defined.contains(infos[i].name())) infos.SwapElements(write++, i);
    }
    infos.DeleteSubrange(write, infos.size() - write);
  });
}

// The originals that are still called, in their order and as they were, then the new ones.
void WriteFunctions(onnx::ModelProto& model, const InlineOrigins& origins, const std::vector<FunctionProto*>& made) {
  auto& functions = *model.mutable_functions();
  functions.Clear();
  functions.CopyFrom(origins.functions->functions());
  for (FunctionProto* function : made) functions.UnsafeArenaAddAllocated(function);
  KeepCalledFunctions(model);
}

}  // namespace

absl::Status RecordBodies(const onnx::ModelProto& model, InlineOrigins& origins) {
  google::protobuf::Arena arena;
  auto* graph = google::protobuf::Arena::CreateMessage<GraphProto>(&arena);
  graph->mutable_node()->CopyFrom(model.graph().node());
  graph->mutable_output()->CopyFrom(model.graph().output());
  Surroundings around;
  around.model = &model;
  Outliner outliner(origins, around, Outliner::Phase::kBefore, &arena);
  AMP_RETURN_IF_ERROR(outliner.CollapseGraph(*graph, -1));
  for (size_t i = 0; i < origins.calls.size(); ++i) origins.calls[i].body = std::move(outliner.bodies()[i]);
  const auto note = [&](const GraphProto& g) {
    for (const auto& tensor : g.initializer()) origins.initializers.insert(tensor.name());
  };
  note(model.graph());
  ForEachNodeWithin(model.graph().node(), [&](const NodeProto& node) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) note(attribute.g());
      for (const auto& body : attribute.graphs()) note(body);
    }
  });
  return absl::OkStatus();
}

std::vector<std::pair<NodeId, NodeId>> AssignCasts(Model& model, const InlineOrigins& origins) {
  std::vector<std::pair<NodeId, NodeId>> splits;
  const int existing = model.num_nodes();
  for (NodeId id = 0; id < existing; ++id) {
    const Node& node = model.node(id);
    if (!node.inserted || node.erased || node.call >= 0 || node.outputs.size() != 1 || node.outputs[0] == kNone)
      continue;
    const bool is_constant = node.op_type() == "Constant" && node.inputs.empty();
    if (!IsCast(node) && !is_constant) {
      model.SetCall(id, CallOfGraph(model, node.graph));
      continue;
    }
    const bool has_source = !is_constant && node.inputs[0] != kNone;
    int source = -1;
    if (has_source) {
      const Value& value = model.value(node.inputs[0]);
      source = value.producer == kNone ? CallOfGraph(model, value.graph) : model.node(value.producer).call;
    }
    std::map<int, std::vector<Use>> readers;  // by call
    int common = -2;                          // of all readers
    for (const Use& use : model.value(node.outputs[0]).uses) {
      const int reader = CallOfUse(model, use);
      common = common == -2 ? reader : CommonCall(origins, common, reader);
      readers[Within(model, origins, id, has_source ? CommonCall(origins, source, reader) : reader)].push_back(use);
    }
    if (readers.empty()) continue;
    if (!has_source) {
      model.SetCall(id, Within(model, origins, id, common));
      continue;
    }
    const DType type = model.value(node.outputs[0]).dtype;
    const GraphId graph = node.graph;
    const ValueId from = node.inputs[0], to = node.outputs[0];
    model.SetCall(id, readers.begin()->first);  // the outermost keeps the name
    for (auto it = std::next(readers.begin()); it != readers.end(); ++it) {
      Model::NewNode spec;
      spec.op_type = "Cast";
      spec.name = model.UniqueName(model.value(to).name);
      spec.inputs = {from};
      spec.outputs = {spec.name};
      const NodeId copy = model.InsertAfter(graph, id, spec);
      model.EditProto(copy).mutable_attribute()->CopyFrom(model.node(id).proto->attribute());
      model.CopyType(to, model.node(copy).outputs[0]);
      model.SetTensorType(model.node(copy).outputs[0], type);
      model.MoveUses(to, model.node(copy).outputs[0], it->second);
      model.SetCall(copy, it->first);
      splits.emplace_back(id, copy);
    }
  }
  return splits;
}

absl::StatusOr<OutlinedFunctions> OutlineFunctions(Model& model, const InlineOrigins& origins,
                                                   PendingTensors& pending) {
  Surroundings around;
  around.model = &model.proto();
  around.pending = &pending;
  for (NodeId id = 0; id < model.num_nodes(); ++id) {
    const Node& node = model.node(id);
    if (!node.erased && node.inserted && node.call >= 0) around.calls[std::string(node.name())] = node.call;
  }
  for (ValueId id = 0; id < model.num_values(); ++id) {
    const Value& value = model.value(id);
    if (value.producer != kNone && model.node(value.producer).erased) continue;
    if (value.producer == kNone || !model.node(value.producer).inserted) around.values.insert(value.name);
    if (value.dtype == DType::kFloat16 || value.dtype == DType::kBfloat16) around.low_values.insert(value.name);
    const bool is_low = around.low_values.contains(value.name);  // those are copies of weights
    if (value.IsInitializer() && !is_low && !origins.initializers.contains(value.name)) {
      around.new_tensors[value.name] = value.initializer;
    }
  }
  Outliner outliner(origins, around, Outliner::Phase::kAfter, model.arena());
  AMP_RETURN_IF_ERROR(outliner.CollapseGraph(*model.proto().mutable_graph(), -1));
  WriteFunctions(model.proto(), origins, outliner.made());
  CleanUp(model.proto(), around);
  return outliner.record();
}

}  // namespace amp
