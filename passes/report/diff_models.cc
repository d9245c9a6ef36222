#include "passes/report/diff_models.h"

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "ir/graph/shape.h"

namespace amp {
namespace {

std::string ValueText(const Model& model, ValueId id) {
  return id == kNone ? "" : absl::StrCat(Escaped(model.value(id).name), ":", TypeText(model, id));
}

template <typename Ids>
std::string ValuesText(const Model& model, const Ids& ids) {
  return absl::StrJoin(ids, ", ", [&](std::string* out, ValueId id) { absl::StrAppend(out, ValueText(model, id)); });
}

}  // namespace

ModelListing ListModel(const Model& model) {
  ModelListing listing;
  for (const GraphId graph : model.AllGraphs()) {
    for (ValueId id : model.graph(graph).initializers) {
      listing.lines.push_back({{kNone, id}, absl::StrCat("initializer ", ValueText(model, id))});
    }
    for (NodeId id : model.NodesInOrder(graph)) {
      const Node& node = model.node(id);
      listing.lines.push_back({{id, kNone},
                               absl::StrCat(Escaped(model.NodeLabel(id)), ": ", Escaped(node.op_type()), "(",
                                            ValuesText(model, node.inputs), ") -> ", ValuesText(model, node.outputs))});
    }
  }
  return listing;
}

std::string DiffListings(const ModelListing& before, const ModelListing& after) {
  absl::flat_hash_set<std::pair<NodeId, ValueId>> remaining;
  absl::flat_hash_map<std::pair<NodeId, ValueId>, const std::string*> old_text;
  for (const auto& line : after.lines) remaining.insert(line.id);
  for (const auto& line : before.lines) old_text[line.id] = &line.text;
  std::string diff;
  for (const auto& line : before.lines) {
    if (!remaining.contains(line.id)) absl::StrAppend(&diff, "- ", line.text, "\n");
  }
  for (const auto& line : after.lines) {
    auto it = old_text.find(line.id);
    if (it != old_text.end() && *it->second == line.text) continue;
    if (it != old_text.end()) absl::StrAppend(&diff, "- ", *it->second, "\n");
    absl::StrAppend(&diff, "+ ", line.text, "\n");
  }
  return diff;
}

}  // namespace amp
