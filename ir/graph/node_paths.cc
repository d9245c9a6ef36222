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
      : model_(model), bases_(static_cast<size_t>(model.num_graphs())), labels_(bases_.size()), known_(bases_.size()) {
    known_[kMainGraph] = true;
  }

  NodePaths Find() {
    NodePaths paths;
    paths.nodes.resize(static_cast<size_t>(model_.num_nodes()));
    for (const NodeId id : model_.AllNodes()) {
      const Node& node = model_.node(id);
      std::string& path = paths.nodes[static_cast<size_t>(id)];
      path = PathIn(node.graph, model_.NodeLabel(id));
      MakeUnique(path);
    }
    for (GraphId id = 0; id < model_.num_graphs(); ++id) {
      FindBase(id);
      paths.graphs.emplace_back(absl::StripSuffix(bases_[static_cast<size_t>(id)], "/"));
    }
    return paths;
  }

  std::vector<std::string> FindCalls() {
    std::vector<std::string> paths(model_.calls().size());
    if (paths.empty()) return paths;
    for (const NodeId id : model_.AllNodes()) FindCalls(model_.node(id), paths);
    return paths;
  }

 private:
  std::string PathIn(GraphId graph, absl::string_view label) {
    FindBase(graph);
    const std::string& owner = labels_[static_cast<size_t>(graph)];
    absl::string_view rest = label;
    if (!owner.empty() && absl::ConsumePrefix(&rest, owner) && absl::ConsumePrefix(&rest, "/") && !rest.empty()) {
      label = rest;
    }
    return absl::StrCat(bases_[static_cast<size_t>(graph)], label);
  }

  // What the paths of the graph's nodes begin with.
  void FindBase(GraphId id) {
    if (known_[static_cast<size_t>(id)]) return;
    const Graph& graph = model_.graph(id);
    const Node& owner = model_.node(graph.owner);
    const std::string label = model_.NodeLabel(graph.owner);
    std::string base = absl::StrCat(PathIn(owner.graph, label), "/");
    if (owner.bodies.size() > 1) absl::StrAppend(&base, BodyLabel(model_, id), "/");
    bases_[static_cast<size_t>(id)] = std::move(base);
    labels_[static_cast<size_t>(id)] = label;
    known_[static_cast<size_t>(id)] = true;
  }

  // Of the calls that the node comes from.
  void FindCalls(const Node& node, std::vector<std::string>& paths) {
    GraphId graph = node.graph;
    for (int call = node.call; call >= 0 && paths[static_cast<size_t>(call)].empty(); call = model_.call(call).parent) {
      for (NodeId owner = model_.graph(graph).owner; owner != kNone; owner = model_.graph(graph).owner) {
        if (!model_.IsWithinCall(owner, call)) break;  // the call itself is in this graph
        graph = model_.node(owner).graph;
      }
      paths[static_cast<size_t>(call)] = PathIn(graph, model_.call(call).label);
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
  std::vector<std::string> bases_, labels_;  // by GraphId: "If_0/then_branch/", and the owner's label
  std::vector<bool> known_;
  absl::flat_hash_set<absl::string_view> taken_;  // of NodePaths::nodes, which stay where they are
  absl::flat_hash_map<std::string, int> last_number_;
};

}  // namespace

std::string BodyLabel(const Model& model, GraphId body) {
  return LabelOf(*model.node(model.graph(body).owner).proto, model.graph(body).proto.get());
}

NodePaths FindNodePaths(const Model& model) { return PathFinder(model).Find(); }

std::vector<std::string> FindCallPaths(const Model& model) { return PathFinder(model).FindCalls(); }

std::string NodePath(const Model& model, NodeId node) { return FindNodePaths(model).nodes[static_cast<size_t>(node)]; }

}  // namespace amp
