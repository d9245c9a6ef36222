#include "ir/functions/inline_functions.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "google/protobuf/arena.h"
#include "ir/base/status.h"
#include "ir/base/unique_names.h"
#include "ir/file/model_walk.h"
#include "ir/file/validate_attribute.h"
#include "ir/functions/inline_origins.h"
#include "ir/functions/inline_plan.h"
#include "ir/functions/outline_functions.h"
#include "ir/operators/node_facts.h"
#include "ir/schema/operator_label.h"
#include "ir/schema/operator_table.h"
#include "ir/schema/opset_imports.h"
#include "ir/schema/schema.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

using onnx::AttributeProto;
using onnx::FunctionProto;
using onnx::GraphProto;
using onnx::NodeProto;
using NodeList = google::protobuf::RepeatedPtrField<NodeProto>;

std::string FunctionName(const FunctionProto& f) {
  return OperatorLabel(f.domain(), f.overload().empty() ? f.name() : absl::StrCat(f.name(), ":", f.overload()));
}

void TakeNames(const GraphProto& graph, UniqueNames& values, UniqueNames& nodes) {
  for (const auto& input : graph.input()) values.Take(input.name());
  for (const auto& tensor : graph.initializer()) values.Take(tensor.name());
  for (const auto& sparse : graph.sparse_initializer()) values.Take(sparse.values().name());
  for (const auto& node : graph.node()) {
    nodes.Take(node.name());
    for (const std::string& output : node.output()) values.Take(output);
    ForEachBody(node, [&](const GraphProto& body) { TakeNames(body, values, nodes); });
  }
}

// Labels of a list's nodes as Model::NodeLabel gives them.
class Labels {
 public:
  std::string Next(const NodeProto& node) {
    return node.name().empty() ? absl::StrCat(node.op_type(), "#", unnamed_[node.op_type()]++) : node.name();
  }

 private:
  absl::flat_hash_map<std::string, int> unnamed_;
};

// One use of a function. Names get `label` in front: the call's, and for graphs inside the function that of the node
// that holds the graph.
struct Instance {
  const FunctionProto& function;
  const NodeProto& call;
  const std::string& label;
  CallId id = kNone;
};

// The names in the model of the names of a function, or of a graph inside it.
struct Scope {
  const Scope* outer = nullptr;
  absl::flat_hash_map<std::string, std::string> names;

  const std::string* Find(const std::string& name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
      if (auto it = scope->names.find(name); it != scope->names.end()) return &it->second;
    }
    return nullptr;
  }
};

class Inliner {
 public:
  Inliner(onnx::ModelProto& model, const InlinePlan& plan, InlineOrigins* origins)
      : model_(model), plan_(plan), origins_(origins), inlined_(static_cast<size_t>(model.functions_size()), false) {
    TakeNames(model.graph(), value_names_, node_names_);
    for (const auto& training : model.training_info()) {
      TakeNames(training.initialization(), value_names_, node_names_);
      TakeNames(training.algorithm(), value_names_, node_names_);
    }
  }

  absl::StatusOr<InlinedFunctions> Run() {
    AMP_RETURN_IF_ERROR(ExpandGraph(*model_.mutable_graph(), nullptr, nullptr));
    for (int i = 0; i < model_.functions_size(); ++i) {
      if (inlined_[static_cast<size_t>(i)]) record_.functions.push_back(FunctionName(model_.functions(i)));
    }
    return std::move(record_);
  }

 private:
  absl::Status ExpandGraph(GraphProto& graph, const Instance* instance, const Scope* scope);
  absl::Status PlaceNode(NodeProto* node, const Instance* instance, const Scope* scope, const std::string& label,
                         GraphProto& home);
  absl::Status Expand(const NodeProto& call, const std::string& label, CallId parent, const NodeForm* form,
                      GraphProto& home);
  CallId RecordCall(const NodeProto& call, const std::string& label, CallId parent, const NodeForm* form);
  const NodeForm* FormOf(const NodeProto& original, const std::string& name);
  absl::Status BindOutputs(const Instance& instance, Scope& scope);
  absl::Status DeclareNodes(const NodeList& nodes, const Instance& instance,
                            const absl::flat_hash_set<std::string>& bound, Scope& scope);
  absl::Status Rename(NodeProto& node, const Instance& instance, const Scope& scope, const std::string& label);
  absl::Status RenameGraph(GraphProto& graph, const Instance& instance, const Scope& outer, Scope& scope);
  absl::Status CopyPassedOutputs(const Instance& instance, const Scope& scope, GraphProto& home);
  static void BindAttributes(NodeProto& node, const Instance& instance);
  void CopyTypes(const Instance& instance, const Scope& scope, GraphProto& home);
  void Import(absl::string_view domain, const FunctionProto& function);

  static absl::Status Malformed(const Instance& instance, absl::string_view what, const std::string& name) {
    return ModelError("function '", Escaped(instance.function.name()), "': ", what, " '", Escaped(name), "'");
  }
  // Calls that go when they are expanded stay off the model's arena, which gives nothing back.
  NodeProto* Copy(const NodeProto& original) const {
    const bool goes = plan_.Callee(original) >= 0 && !plan_.ObstacleTo(original);
    auto* node = google::protobuf::Arena::CreateMessage<NodeProto>(goes ? nullptr : model_.GetArena());
    node->CopyFrom(original);
    return node;
  }
  static void Discard(NodeProto* node) {
    if (node->GetArena() == nullptr) delete node;
  }

  onnx::ModelProto& model_;
  const InlinePlan& plan_;
  InlineOrigins* origins_;  // null: nobody asks
  UniqueNames value_names_, node_names_;
  std::vector<bool> inlined_;
  InlinedFunctions record_;
};

// Puts the graph's nodes back one by one, calls expanded. `instance` and `scope`: of the function whose graph it is.
absl::Status Inliner::ExpandGraph(GraphProto& graph, const Instance* instance, const Scope* scope) {
  std::vector<NodeProto*> nodes(static_cast<size_t>(graph.node_size()));
  graph.mutable_node()->UnsafeArenaExtractSubrange(0, graph.node_size(), nodes.data());
  Labels labels;
  absl::Status status;
  for (NodeProto* node : nodes) {
    if (status.ok()) {
      status = PlaceNode(node, instance, scope, labels.Next(*node), graph);
    } else {
      Discard(node);
    }
  }
  return status;
}

// Takes the node over.
absl::Status Inliner::PlaceNode(NodeProto* node, const Instance* instance, const Scope* scope, const std::string& label,
                                GraphProto& home) {
  const int callee = plan_.Callee(*node);
  const Reason obstacle = callee < 0 ? Reason::None() : plan_.ObstacleTo(*node);
  const bool is_inlined = callee >= 0 && !obstacle;
  const NodeForm* form = nullptr;
  absl::Status status;
  if (instance != nullptr) {
    form = FormOf(*node, is_inlined ? label : node->name());  // of a call: what users call it
    status = Rename(*node, *instance, *scope, label);
  }
  if (form != nullptr && !is_inlined) origins_->nodes[node->name()] = {instance->id, form};
  const auto expand = [&](GraphProto& graph) -> absl::Status {
    if (instance == nullptr) return ExpandGraph(graph, nullptr, nullptr);
    const Instance within{instance->function, instance->call, node->name(), instance->id};
    Scope inner;
    AMP_RETURN_IF_ERROR(RenameGraph(graph, within, *scope, inner));
    return ExpandGraph(graph, &within, &inner);
  };
  ForEachMutableBody(*node, [&](GraphProto& graph) {
    if (status.ok()) status = expand(graph);
  });
  if (is_inlined) {
    const bool is_inner = instance != nullptr;
    if (status.ok())
      status = Expand(*node, is_inner ? node->name() : label, is_inner ? instance->id : kNone, form, home);
    Discard(node);
    return status;
  }
  if (instance != nullptr) record_.call_of[node] = instance->id;
  if (callee >= 0) record_.kept[node] = obstacle.sentence();
  if (callee >= 0 && instance != nullptr) Import(node->domain(), instance->function);
  home.mutable_node()->AddAllocated(node);
  return status;
}

CallId Inliner::RecordCall(const NodeProto& call, const std::string& label, CallId parent, const NodeForm* form) {
  const int callee = plan_.Callee(call);
  const FunctionProto& function = plan_.function(callee);
  const CallId id = record_.calls.push_back({.parent = parent,
                                             .domain = std::string(CanonicalDomain(function.domain())),
                                             .function = function.name(),
                                             .label = label,
                                             .facts = CallFacts(call, function)});
  if (origins_ == nullptr) return id;
  CallOrigin& made = origins_->calls[origins_->calls.emplace_back()];
  made.parent = parent;
  made.function = callee;
  made.form = form;
  made.node = call.SerializeAsString();
  if (call.name().empty()) made.unnamed_label = label;
  made.outputs.assign(function.output().begin(), function.output().end());
  return id;
}

// `original` still has the function's names. Null if nobody asks.
const NodeForm* Inliner::FormOf(const NodeProto& original, const std::string& name) {
  if (origins_ == nullptr) return nullptr;
  NodeForm made;
  made.name = name;
  made.inputs.assign(original.input().begin(), original.input().end());
  made.outputs.assign(original.output().begin(), original.output().end());
  for (const auto& attribute : original.attribute()) {
    if (attribute.ref_attr_name().empty()) continue;
    made.references.push_back({attribute.name(), attribute.ref_attr_name(), attribute.type()});
  }
  return &*origins_->forms.insert(std::move(made)).first;
}

absl::Status Inliner::Expand(const NodeProto& call, const std::string& label, CallId parent, const NodeForm* form,
                             GraphProto& home) {
  const int callee = plan_.Callee(call);
  const FunctionProto& function = plan_.function(callee);
  const Instance instance{function, call, label, RecordCall(call, label, parent, form)};
  ++record_.num_calls;
  inlined_[static_cast<size_t>(callee)] = true;
  Scope scope;
  for (int i = 0; i < function.input_size(); ++i) {
    scope.names[function.input(i)] = i < call.input_size() ? call.input(i) : "";
  }
  AMP_RETURN_IF_ERROR(BindOutputs(instance, scope));
  CopyTypes(instance, scope, home);
  Labels labels;
  for (const NodeProto& original : function.node()) {
    if (plan_.Callee(original) < 0) Import(original.domain(), function);
    AMP_RETURN_IF_ERROR(PlaceNode(Copy(original), &instance, &scope, labels.Next(original), home));
  }
  return CopyPassedOutputs(instance, scope, home);
}

// Names the values of the function's nodes: outputs as the call does, the first time they are listed.
absl::Status Inliner::BindOutputs(const Instance& instance, Scope& scope) {
  absl::flat_hash_set<std::string> bound;
  for (int i = 0; i < instance.function.output_size() && i < instance.call.output_size(); ++i) {
    const std::string& name = instance.function.output(i);
    if (instance.call.output(i).empty() || scope.names.contains(name)) continue;
    scope.names[name] = instance.call.output(i);
    bound.insert(name);
  }
  return DeclareNodes(instance.function.node(), instance, bound, scope);
}

absl::Status Inliner::DeclareNodes(const NodeList& nodes, const Instance& instance,
                                   const absl::flat_hash_set<std::string>& bound, Scope& scope) {
  absl::flat_hash_set<absl::string_view> produced;
  for (const NodeProto& node : nodes) {
    for (const std::string& name : node.output()) {
      if (name.empty()) continue;
      if (!produced.insert(name).second) return Malformed(instance, "found two definitions of", name);
      if (bound.contains(name)) continue;
      if (!scope.names.try_emplace(name, value_names_.Make(absl::StrCat(instance.label, "/", name))).second) {
        return Malformed(instance, "found two definitions of", name);
      }
    }
  }
  for (const std::string& name : instance.function.output()) {
    if (bound.contains(name) && !produced.contains(name))
      return Malformed(instance, "expected a node that produces the output", name);
  }
  return absl::OkStatus();
}

// An output that is an input, or that was bound before, is a copy of its own.
absl::Status Inliner::CopyPassedOutputs(const Instance& instance, const Scope& scope, GraphProto& home) {
  const auto& [function, call, label, id] = instance;
  for (int i = 0; i < function.output_size() && i < call.output_size(); ++i) {
    if (call.output(i).empty()) continue;
    const std::string* source = scope.Find(function.output(i));
    if (*source == call.output(i)) continue;
    if (source->empty()) return Malformed(instance, "the call leaves out what is also the output", function.output(i));
    NodeProto inner;  // in the function's names
    inner.set_name(absl::StrCat("Identity_", function.output(i)));
    inner.add_input(function.output(i));
    std::string inner_name = absl::StrCat(function.output(i), "_copy");
    while (scope.Find(inner_name) != nullptr) inner_name += '_';
    inner.add_output(inner_name);
    if (origins_ != nullptr) origins_->calls[id].outputs[static_cast<size_t>(i)] = inner_name;
    NodeProto* copy = home.add_node();
    copy->set_op_type("Identity");
    copy->set_name(node_names_.Make(absl::StrCat(label, "/Identity_", function.output(i))));
    if (origins_ != nullptr) origins_->nodes[copy->name()] = {id, FormOf(inner, inner.name())};
    record_.call_of[copy] = id;
    copy->add_input(*source);
    copy->add_output(call.output(i));
  }
  return absl::OkStatus();
}

absl::Status Inliner::Rename(NodeProto& node, const Instance& instance, const Scope& scope, const std::string& label) {
  node.set_name(node_names_.Make(absl::StrCat(instance.label, "/", label)));
  for (auto* names : {node.mutable_input(), node.mutable_output()}) {
    for (std::string& name : *names) {
      if (name.empty()) continue;
      const std::string* found = scope.Find(name);
      if (found == nullptr) return Malformed(instance, "expected a defined value, found unknown name", name);
      name = *found;
    }
  }
  BindAttributes(node, instance);
  if (!FindOperator(CanonicalDomain(node.domain()), node.op_type()).Has(Role::kConstant)) return absl::OkStatus();
  const absl::Status status = ValidateConstantValues(node);
  if (status.ok()) return absl::OkStatus();
  return absl::Status(status.code(), absl::StrCat("function '", Escaped(instance.function.name()), "': node '",
                                                  Escaped(label), "' (Constant): ", status.message()));
}

void Inliner::BindAttributes(NodeProto& node, const Instance& instance) {
  auto& attributes = *node.mutable_attribute();
  int kept = 0;
  for (int i = 0; i < attributes.size(); ++i) {
    AttributeProto& attribute = attributes[i];
    const std::string reference = attribute.ref_attr_name();
    if (!reference.empty()) {
      const auto is_it = [&](const AttributeProto& a) { return a.name() == reference; };
      const auto& passed = instance.call.attribute();
      const auto& defaults = instance.function.attribute_proto();
      const auto of_call = std::find_if(passed.begin(), passed.end(), is_it);
      const auto of_function = std::find_if(defaults.begin(), defaults.end(), is_it);
      if (of_call == passed.end() && of_function == defaults.end()) continue;  // absent
      const std::string name = attribute.name();
      attribute.CopyFrom(of_call != passed.end() ? *of_call : *of_function);
      attribute.set_name(name);
    }
    if (kept != i) attributes.SwapElements(kept, i);
    ++kept;
  }
  attributes.DeleteSubrange(kept, attributes.size() - kept);
}

// Everything but the nodes, which ExpandGraph renames with the scope that is filled here.
absl::Status Inliner::RenameGraph(GraphProto& graph, const Instance& instance, const Scope& outer, Scope& scope) {
  scope.outer = &outer;
  const auto declare = [&](std::string* name) {
    auto [it, is_new] = scope.names.try_emplace(*name);
    if (is_new) it->second = value_names_.Make(absl::StrCat(instance.label, "/", *name));
    if (origins_ != nullptr) origins_->values[it->second] = *name;
    *name = it->second;
  };
  for (auto& input : *graph.mutable_input()) declare(input.mutable_name());
  for (auto& tensor : *graph.mutable_initializer()) declare(tensor.mutable_name());
  for (auto& sparse : *graph.mutable_sparse_initializer()) declare(sparse.mutable_values()->mutable_name());
  AMP_RETURN_IF_ERROR(DeclareNodes(graph.node(), instance, {}, scope));
  for (auto& output : *graph.mutable_output()) {
    const std::string* found = scope.Find(output.name());
    if (found == nullptr || found->empty()) {
      return Malformed(instance, "expected a defined value, found unknown name", output.name());
    }
    output.set_name(*found);
  }
  auto& infos = *graph.mutable_value_info();
  for (int i = infos.size() - 1; i >= 0; --i) {
    const std::string* found = scope.Find(infos[i].name());
    if (found != nullptr) {
      infos[i].set_name(*found);
    } else {
      infos.DeleteSubrange(i, 1);
    }
  }
  for (auto& annotation : *graph.mutable_quantization_annotation()) {
    if (const std::string* found = scope.Find(annotation.tensor_name())) annotation.set_tensor_name(*found);
    for (auto& entry : *annotation.mutable_quant_parameter_tensor_names()) {
      if (const std::string* found = scope.Find(entry.value())) entry.set_value(*found);
    }
  }
  return absl::OkStatus();
}

// Where no schema tells the type of a value, what the function's value_info says goes along. Names of dimensions stay
// behind: they are the function's own.
void Inliner::CopyTypes(const Instance& instance, const Scope& scope, GraphProto& home) {
  absl::flat_hash_map<absl::string_view, const onnx::ValueInfoProto*> types;
  for (const auto& info : instance.function.value_info()) types[info.name()] = &info;
  if (types.empty()) return;
  const auto& outputs = instance.call.output();
  for (const NodeProto& node : instance.function.node()) {
    const int version = static_cast<int>(ImportedVersion(instance.function, node.domain()));
    const bool is_known = FindOpSchema(CanonicalDomain(node.domain()), node.op_type(), version) != nullptr;
    if (plan_.Callee(node) < 0 && is_known) continue;
    for (const std::string& name : node.output()) {
      const auto it = types.find(name);
      if (it == types.end() || std::find(outputs.begin(), outputs.end(), *scope.Find(name)) != outputs.end()) continue;
      auto* info = home.add_value_info();
      info->CopyFrom(*it->second);
      info->set_name(*scope.Find(name));
      if (!info->type().tensor_type().has_shape()) continue;
      for (auto& dim : *info->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()) {
        if (dim.has_dim_param()) dim.clear_dim_param();
      }
    }
  }
}

// Lets the model import a domain of the function.
void Inliner::Import(absl::string_view domain, const FunctionProto& function) {
  const int64_t version = ImportedVersion(function, domain);
  if (version == 0 || ImportedVersion(model_, domain) != 0) return;
  auto* import = model_.add_opset_import();
  import->set_domain(std::string(CanonicalDomain(domain)));
  import->set_version(version);
}

void RemoveFunctions(onnx::ModelProto& model, const std::vector<bool>& kept) {
  auto& functions = *model.mutable_functions();
  int write = 0;
  for (int i = 0; i < functions.size(); ++i) {
    if (!kept[static_cast<size_t>(i)]) continue;
    if (write != i) functions.SwapElements(write, i);
    ++write;
  }
  functions.DeleteSubrange(write, functions.size() - write);
}

}  // namespace

void MarkCalls(Model& model, InlinedFunctions& inlined) {
  model.SetCalls(std::move(inlined.calls));
  if (model.calls().empty()) return;
  for (const NodeId id : model.AllNodes()) {
    const auto it = inlined.call_of.find(model.node(id).proto.get());
    if (it != inlined.call_of.end()) model.SetCall(id, it->second);
  }
}

void KeepCalledFunctions(onnx::ModelProto& model) {
  const InlinePlan plan(model, {});
  RemoveFunctions(model, plan.CalledFunctions());
}

absl::StatusOr<InlinedFunctions> InlineFunctions(onnx::ModelProto& model, const InlineOptions& options) {
  if (model.functions_size() == 0) return InlinedFunctions();
  const InlinePlan plan(model, options.opaque_domains, options.model_stays_because);
  if (plan.AddedBytes() > options.max_bytes) {
    return LimitError("the model: expected inlining functions to add at most ", options.max_bytes, " bytes, found ",
                      plan.AddedBytes(), "; --max-inlined-bytes raises that, --functions keep inlines none");
  }
  auto origins = options.keep_origins == KeepOrigins::kYes ? std::make_shared<InlineOrigins>() : nullptr;
  if (origins != nullptr) {
    auto functions = std::make_shared<onnx::ModelProto>();
    functions->mutable_functions()->CopyFrom(model.functions());
    origins->functions = std::move(functions);
  }
  AMP_ASSIGN_OR_RETURN(InlinedFunctions record, Inliner(model, plan, origins.get()).Run());
  if (origins != nullptr) AMP_RETURN_IF_ERROR(RecordBodies(model, *origins));
  record.origins = std::move(origins);
  RemoveFunctions(model, plan.CalledFunctions());
  return record;
}

}  // namespace amp
