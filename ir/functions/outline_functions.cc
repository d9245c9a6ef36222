#include "ir/functions/outline_functions.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/arena.h"
#include "ir/base/status.h"
#include "ir/base/topological_order.h"
#include "ir/base/unique_names.h"
#include "ir/file/model_walk.h"
#include "ir/functions/call_workplace.h"
#include "ir/functions/function_maker.h"
#include "ir/functions/inline_functions.h"
#include "ir/functions/inline_origins.h"
#include "ir/functions/inline_plan.h"
#include "ir/schema/operator_label.h"
#include "ir/schema/opset_imports.h"
#include "ir/schema/schema.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

using onnx::FunctionProto;
using onnx::GraphProto;
using onnx::NodeProto;
using Nodes = std::vector<NodeProto*>;
using NameSet = absl::flat_hash_set<std::string>;
using Surroundings = FunctionMaker::Surroundings;

class Outliner {
 public:
  enum class Phase { kBefore, kAfter };
  Outliner(const InlineOrigins& origins, const Surroundings& around, Phase phase, google::protobuf::Arena* arena)
      : origins_(origins),
        around_(around),
        phase_(phase),
        root_{arena, around.weights},
        body_of_(origins.calls.size()) {
    for (const auto& function : origins.functions->functions()) {
      names_[CanonicalDomain(function.domain())].Take(function.name());
    }
  }

  absl::Status CollapseModel(GraphProto& graph) {
    const auto count = [&](const std::string& name) {
      const auto [it, is_new] = id_of_.try_emplace(name, static_cast<int>(reads_.size()));
      if (is_new) reads_.push_back(0);
      ++reads_[static_cast<size_t>(it->second)];
    };
    for (const auto& node : graph.node()) ForEachRead(node, count);
    for (const auto& output : graph.output()) count(output.name());
    reads_inside_.resize(reads_.size());
    return CollapseGraph(graph, kNone, root_);
  }

  // Calls get their labels for names, so that "block#1" stays "block#1" when block#0 becomes a call of block_low. Where
  // no call of such an operator changed, those of the graphs keep none; those in copies keep their labels.
  void DropNeedlessNames() {
    for (NodeProto* call : unnamed_) {
      if (!changed_.contains(call->op_type())) call->clear_name();
    }
  }

  // The bodies of the functions: of all of them, and by call.
  std::set<std::string>& bodies() { return bodies_; }
  const IdVector<CallId, const std::string*>& body_of() const { return body_of_; }
  const std::vector<FunctionProto*>& made() const { return made_; }
  const OutlinedFunctions& record() const { return record_; }

 private:
  // A node on its way into its call, looked up once for all the calls around that.
  struct Traveller {
    NodeProto* node;
    CallId call;
    std::vector<int> reads;    // of the node and its bodies, as ids
    std::vector<int> outputs;  // -1: nobody reads it
  };
  struct Group {
    CallId call;
    std::vector<Traveller> nodes;
    int place;  // of the first node
  };

  Traveller Travel(NodeProto* node) const {
    Traveller made{node, CallOf(*node), {}, {}};
    if (made.call == kNone) return made;
    const auto id = [&](const std::string& name) {
      const auto it = id_of_.find(name);
      return it == id_of_.end() ? -1 : it->second;
    };
    ForEachRead(*node, [&](const std::string& name) { made.reads.push_back(id(name)); });
    for (const std::string& name : node->output()) made.outputs.push_back(id(name));
    return made;
  }

  CallId CallOf(const NodeProto& node) const {
    if (const auto it = origins_.nodes.find(node.name()); it != origins_.nodes.end()) return it->second.call;
    if (const auto it = around_.calls.find(node.name()); it != around_.calls.end()) return it->second;
    return kNone;
  }
  // The call right below `current` that `call` is part of.
  CallId ChildOf(CallId current, CallId call) const {
    while (call != kNone && origins_.calls[call].parent != current) {
      call = origins_.calls[call].parent;
    }
    return call;
  }

  absl::Status CollapseGraph(GraphProto& graph, CallId current, CallWorkplace& here) {
    Nodes nodes(static_cast<size_t>(graph.node_size()));
    graph.mutable_node()->UnsafeArenaExtractSubrange(0, graph.node_size(), nodes.data());
    std::vector<Traveller> travellers;
    travellers.reserve(nodes.size());
    for (NodeProto* node : nodes) travellers.push_back(Travel(node));
    AMP_ASSIGN_OR_RETURN(nodes, Collapse(std::move(travellers), current, here));
    for (NodeProto* node : nodes) graph.mutable_node()->UnsafeArenaAddAllocated(node);
    return absl::OkStatus();
  }

  absl::StatusOr<Nodes> Collapse(std::vector<Traveller> nodes, CallId current, CallWorkplace& here) {
    std::vector<Group> groups;
    absl::flat_hash_map<CallId, size_t> group_of;
    Nodes result;
    std::vector<int> places;  // of the nodes in the result, for the order
    CallId last_call, child;
    for (size_t i = 0; i < nodes.size(); ++i) {
      Traveller& traveller = nodes[i];
      if (traveller.call == current) {
        absl::Status status;
        ForEachMutableBody(*traveller.node,
                           [&](GraphProto& graph) { status.Update(CollapseGraph(graph, current, here)); });
        AMP_RETURN_IF_ERROR(status);
        result.push_back(traveller.node);
        places.push_back(static_cast<int>(i));
        continue;
      }
      if (traveller.call != std::exchange(last_call, traveller.call)) child = ChildOf(current, traveller.call);
      if (child == kNone) {
        return absl::InternalError(absl::StrCat("node '", Escaped(traveller.node->name()), "' is in a foreign call"));
      }
      const auto [it, is_new] = group_of.try_emplace(child, groups.size());
      if (is_new) groups.push_back({child, {}, static_cast<int>(i)});
      groups[it->second].nodes.push_back(std::move(traveller));
    }
    if (groups.empty()) return result;
    for (Group& group : groups) {
      AMP_ASSIGN_OR_RETURN(NodeProto * call, MakeCall(group, here));
      result.push_back(call);
      places.push_back(group.place);
    }
    return Sorted(result, places);
  }

  // Names that the group's nodes give and others read.
  NameSet LiveNames(const Group& group) {
    const auto for_each_read = [&](const auto& visit) {
      for (const Traveller& traveller : group.nodes) {
        for (const int id : traveller.reads) visit(reads_inside_[static_cast<size_t>(id)]);
      }
    };
    for_each_read([](int& count) { ++count; });
    NameSet live;
    for (const Traveller& traveller : group.nodes) {
      for (size_t i = 0; i < traveller.outputs.size(); ++i) {
        const int id = traveller.outputs[i];
        if (id < 0 || reads_[static_cast<size_t>(id)] == reads_inside_[static_cast<size_t>(id)]) continue;
        live.insert(traveller.node->output(static_cast<int>(i)));
      }
    }
    for_each_read([](int& count) { count = 0; });
    return live;
  }

  absl::StatusOr<NodeProto*> MakeCall(Group& group, CallWorkplace& home) {
    const NameSet live = LiveNames(group);
    google::protobuf::Arena arena;
    CallWorkplace inside{&arena, around_.weights};
    absl::StatusOr<NodeProto*> call = MakeCall(group, live, inside, home);
    inside.ForgetCopies();
    return call;
  }

  // The message that the model's structs point to stays as it is: its nodes are copied, each once, for the innermost
  // call.
  absl::StatusOr<NodeProto*> MakeCall(Group& group, const NameSet& live, CallWorkplace& inside, CallWorkplace& home) {
    for (Traveller& traveller : group.nodes) {
      if (traveller.call == group.call) traveller.node = inside.Copy(*traveller.node);
    }
    AMP_ASSIGN_OR_RETURN(const Nodes nodes, Collapse(std::move(group.nodes), group.call, inside));
    FunctionMaker maker(origins_, inside.calls, around_, group.call, inside.arena);
    maker.Make(nodes, live);
    auto* call = google::protobuf::Arena::CreateMessage<NodeProto>(home.arena);
    const CallOrigin& origin = origins_.calls[group.call];
    const FunctionProto& original = origins_.functions->functions(origin.function);
    NodeForm made;
    if (origin.form != nullptr) made = *origin.form;
    if (phase_ == Phase::kBefore) {
      body_of_[group.call] = &*bodies_.insert(maker.Key()).first;
      maker.WriteOriginalCall(call);
    } else if (maker.Key() == Body(origin, *maker.function()) && StillValid(original, maker)) {
      maker.WriteOriginalCall(call);
      ++record_.num_unchanged;
      if (!origin.unnamed_label.empty()) unnamed_.push_back(call);
    } else {
      const std::string name = NameFor(maker, original);
      for (const auto& node : maker.inserted()) {
        record_.moved[node.before] = {absl::StrCat(name, "/", node.name), absl::StrCat(name, "/", node.value)};
      }
      maker.WriteCall(name, call, &made);
      ++record_.num_calls;
      changed_.insert(original.name());
    }
    home.calls[call->name()] = std::move(made);
    return call;
  }

  // The body right after inlining, at the versions that the model imports now.
  static std::string Body(const CallOrigin& call, const FunctionProto& now) {
    FunctionProto before;
    if (call.body != nullptr) before.ParseFromString(*call.body);
    before.mutable_opset_import()->CopyFrom(now.opset_import());
    return before.SerializeAsString();
  }

  bool StillValid(const FunctionProto& original, const FunctionMaker& maker) const {
    if (original.value_info_size() > 0 && maker.touches_low()) return false;  // it tells types
    bool valid = true;
    ForEachNodeWithin(original.node(), [&](const NodeProto& node) {
      const absl::string_view domain = CanonicalDomain(node.domain());
      const int64_t own = ImportedVersion(original, domain), models = ImportedVersion(*around_.model, domain);
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
    const std::string wanted = absl::StrCat(
        original.name(), maker.touches_low() ? "_low" : absl::StrCat("_opset", ImportedVersion(*around_.model, "")));
    name = names_[CanonicalDomain(original.domain())].Make(wanted);
    maker.function()->set_name(name);
    made_.push_back(root_.Copy(*maker.function()));
    record_.functions.push_back(OperatorLabel(original.domain(), name));
    record_.originals[record_.functions.back()] = {std::string(CanonicalDomain(original.domain())), original.name()};
    return name;
  }

  // Topological; among those that are ready, the one with the lowest place comes first.
  absl::StatusOr<Nodes> Sorted(const Nodes& nodes, const std::vector<int>& places) const {
    absl::flat_hash_map<absl::string_view, size_t> producer;
    for (size_t i = 0; i < nodes.size(); ++i) {
      for (const std::string& name : nodes[i]->output()) {
        if (!name.empty()) producer[name] = i;
      }
    }
    std::vector<std::vector<size_t>> readers(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      ForEachRead(*nodes[i], [&](const std::string& name) {
        const auto it = producer.find(name);
        if (it != producer.end() && it->second != i) readers[it->second].push_back(i);
      });
    }
    const TopologicalOrder order = SortTopologically(readers, places);
    if (!order.first_in_cycle) {
      Nodes sorted;
      for (const size_t i : order.order) sorted.push_back(nodes[i]);
      return sorted;
    }
    const NodeProto& node = *nodes[*order.first_in_cycle];
    const std::string what = absl::StrCat("node '", Escaped(node.name()), "' (", Escaped(node.op_type()),
                                          ") depends on its own output; expected a graph without cycles");
    return phase_ == Phase::kBefore ? ModelError(what) : absl::InternalError(what);
  }

  const InlineOrigins& origins_;
  const Surroundings& around_;
  Phase phase_;
  CallWorkplace root_;  // the model, where new functions stay
  // Names that are read anywhere, as in the messages that stay as they are; how often, and how often inside of the
  // group that is looked at.
  absl::flat_hash_map<absl::string_view, int> id_of_;
  std::vector<int> reads_, reads_inside_;
  std::set<std::string> bodies_;
  IdVector<CallId, const std::string*> body_of_;         // by call
  absl::flat_hash_map<std::string, UniqueNames> names_;  // of functions, by domain
  std::map<std::string, std::string> by_body_;
  std::vector<FunctionProto*> made_;
  std::vector<NodeProto*> unnamed_;  // calls that went back to their function and had no name
  NameSet changed_;                  // operators of which some call changed
  OutlinedFunctions record_;
};

void ForEachGraphWithin(GraphProto& graph, absl::FunctionRef<void(GraphProto&)> visit) {
  visit(graph);
  for (auto& node : *graph.mutable_node()) {
    ForEachMutableBody(node, [&](GraphProto& body) { ForEachGraphWithin(body, visit); });
  }
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

absl::Status RecordBodies(onnx::ModelProto& model, InlineOrigins& origins) {
  google::protobuf::Arena arena;
  auto* graph = google::protobuf::Arena::CreateMessage<GraphProto>(&arena);
  for (NodeProto& node : *model.mutable_graph()->mutable_node()) {
    bool has_body = false;
    ForEachBody(node, [&](const GraphProto&) { has_body = true; });
    if (has_body) {
      graph->add_node()->CopyFrom(node);  // bodies are edited
    } else {
      graph->mutable_node()->UnsafeArenaAddAllocated(&node);
    }
  }
  graph->mutable_output()->CopyFrom(model.graph().output());
  Surroundings around;
  around.model = &model;
  Outliner outliner(origins, around, Outliner::Phase::kBefore, &arena);
  AMP_RETURN_IF_ERROR(outliner.CollapseModel(*graph));
  origins.bodies = std::move(outliner.bodies());
  for (const CallId call : origins.calls.ids()) origins.calls[call].body = outliner.body_of()[call];
  const auto note = [&](const GraphProto& g) {
    for (const auto& tensor : g.initializer()) origins.initializers.insert(tensor.name());
  };
  note(model.graph());
  ForEachNodeWithin(model.graph().node(), [&](const NodeProto& node) { ForEachBody(node, note); });
  return absl::OkStatus();
}

absl::StatusOr<OutlinedFunctions> OutlineFunctions(Model& model, const InlineOrigins& origins) {
  Surroundings around;
  around.model = &model.proto();
  around.weights = &model.weights();
  for (const NodeId id : model.AllNodes()) {
    const Node& node = model.node(id);
    if (node.inserted && node.call != kNone) around.calls[std::string(node.name())] = node.call;
  }
  for (const ValueId id : model.AllValues()) {
    const Value& value = model.value(id);
    if (value.producer != kNone && model.node(value.producer).erased) continue;
    if (value.producer == kNone || !model.node(value.producer).inserted) around.values.insert(value.name);
    if (value.dtype == DType::kFloat16 || value.dtype == DType::kBfloat16) around.low_values.insert(value.name);
    const bool is_low = around.low_values.contains(value.name);  // those are copies of weights
    if (value.IsInitializer() && !is_low && !origins.initializers.contains(value.name)) {
      around.new_tensors[value.name] = value.initializer.get();
    }
  }
  Outliner outliner(origins, around, Outliner::Phase::kAfter, model.arena());
  onnx::ModelProto& proto = model.EditProto();
  AMP_RETURN_IF_ERROR(outliner.CollapseModel(*proto.mutable_graph()));
  outliner.DropNeedlessNames();
  WriteFunctions(proto, origins, outliner.made());
  CleanUp(proto, around);
  return outliner.record();
}

}  // namespace amp
