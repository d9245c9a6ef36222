#include "ir/graph/node_paths.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

std::string LabelOf(const onnx::NodeProto& owner, const onnx::GraphProto* body) {
  for (const auto& attribute : owner.attribute()) {
    if (attribute.has_g() && &attribute.g() == body) return attribute.name();
    for (int i = 0; i < attribute.graphs_size(); ++i) {
      if (&attribute.graphs(i) == body) return absl::StrCat(attribute.name(), ".", i);
    }
  }
  return "";
}

class PathFinder {
 public:
  explicit PathFinder(const Model& model)
      : model_(model), bases_(model.num_graphs()), labels_(bases_.size()), known_(bases_.size()) {
    known_[kMainGraph] = true;
  }

  NodePaths Find() {
    NodePaths paths;
    paths.nodes.resize(model_.num_nodes());
    for (const NodeId id : model_.AllNodes()) {
      const Node& node = model_.node(id);
      std::string& path = paths.nodes[id];
      path = PathIn(node.graph, model_.NodeLabel(id));
      MakeUnique(path);
    }
    for (const GraphId id : model_.AllGraphs()) {
      FindBase(id);
      paths.graphs.push_back(std::string(absl::StripSuffix(bases_[id], "/")));
    }
    return paths;
  }

  IdVector<CallId, std::string> FindCalls() {
    IdVector<CallId, std::string> paths(model_.calls().size());
    if (paths.empty()) return paths;
    for (const NodeId id : model_.AllNodes()) FindCalls(model_.node(id), paths);
    return paths;
  }

 private:
  std::string PathIn(GraphId graph, absl::string_view label) {
    FindBase(graph);
    const std::string& owner = labels_[graph];
    absl::string_view rest = label;
    if (!owner.empty() && absl::ConsumePrefix(&rest, owner) && absl::ConsumePrefix(&rest, "/") && !rest.empty()) {
      label = rest;
    }
    return absl::StrCat(bases_[graph], label);
  }

  // Finds the beginning of the paths of the graph's nodes.
  void FindBase(GraphId id) {
    if (known_[id]) return;
    const Graph& graph = model_.graph(id);
    const Node& owner = model_.node(graph.owner);
    const std::string label = model_.NodeLabel(graph.owner);
    std::string base = absl::StrCat(PathIn(owner.graph, label), "/");
    if (owner.bodies.size() > 1) absl::StrAppend(&base, BodyLabel(model_, id), "/");
    bases_[id] = std::move(base);
    labels_[id] = label;
    known_[id] = true;
  }

  // Finds the paths of the calls that the node comes from.
  void FindCalls(const Node& node, IdVector<CallId, std::string>& paths) {
    GraphId graph = node.graph;
    for (CallId call = node.call; call != kNone && paths[call].empty(); call = model_.call(call).parent) {
      for (NodeId owner = model_.graph(graph).owner; owner != kNone; owner = model_.graph(graph).owner) {
        if (!model_.IsWithinCall(owner, call)) break;  // the call itself is in this graph
        graph = model_.node(owner).graph;
      }
      paths[call] = PathIn(graph, model_.call(call).label);
    }
  }

  void MakeUnique(std::string& path) {
    if (taken_.insert(path).second) return;
    const std::string wanted = path;
    int& last = last_number_.try_emplace(wanted, 1).first->second;
    do path = absl::StrCat(wanted, "~", ++last);
    while (!taken_.insert(path).second);
  }

  const Model& model_;
  IdVector<GraphId, std::string> bases_, labels_;  // "If_0/then_branch/", and the owner's label
  IdVector<GraphId, bool> known_;
  absl::flat_hash_set<absl::string_view> taken_;  // of NodePaths::nodes, which stay where they are
  absl::flat_hash_map<std::string, int> last_number_;
};

}  // namespace

std::string BodyLabel(const Model& model, GraphId body) {
  return LabelOf(*model.node(model.graph(body).owner).proto, model.graph(body).proto.get());
}

NodePaths FindNodePaths(const Model& model) { return PathFinder(model).Find(); }

IdVector<CallId, std::string> FindCallPaths(const Model& model) { return PathFinder(model).FindCalls(); }

std::string NodePath(const Model& model, NodeId node) { return FindNodePaths(model).nodes[node]; }

}  // namespace amp
