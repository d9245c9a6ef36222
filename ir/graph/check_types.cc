#include "ir/graph/check_types.h"

#include <optional>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/graph/control_flow.h"
#include "ir/graph/node_paths.h"
#include "ir/schema/schema.h"

namespace amp {
namespace {

// Types of one node's ports against its schema and against the ports of its bodies.
class NodeCheck {
 public:
  NodeCheck(const Model& model, NodeId id, std::vector<TypeFault>& faults)
      : model_(model), id_(id), node_(model.node(id)), faults_(faults) {}

  void Run() {
    for (size_t i = 0; i < node_.inputs.size() && node_.schema->num_inputs() > 0; ++i) {
      CheckPort(node_.inputs[i], node_.schema->InputVariable(i), "input ", i);
    }
    for (size_t i = 0; i < node_.outputs.size() && node_.schema->num_outputs() > 0; ++i) {
      CheckPort(node_.outputs[i], node_.schema->OutputVariable(i), "output ", i);
    }
    const std::optional<ControlFlow> flow = DescribeControlFlow(model_, id_);
    if (!flow.has_value()) return;
    for (const auto& join : flow->inputs) {
      CheckJoin(BodyInput(join.body, join.body_port), node_.inputs[join.node_port],
                absl::StrCat("input ", join.node_port));
    }
    absl::flat_hash_map<size_t, ValueId> first_body;  // of the outputs: the branches of an If agree
    for (const auto& join : flow->outputs) {
      const std::string place = absl::StrCat("output ", join.node_port);
      const ValueId inner = BodyOutput(join.body, join.body_port);
      CheckJoin(inner, node_.outputs[join.node_port], place);
      const ValueId other = first_body.try_emplace(join.node_port, inner).first->second;
      CheckJoin(inner, other, place);
    }
    for (const auto& state : flow->states) {
      CheckJoin(BodyOutput(state.body, state.output), BodyInput(state.body, state.input),
                absl::StrCat("input ", state.input, " of the body"));
    }
  }

 private:
  ValueId BodyInput(GraphId body, size_t port) const { return model_.graph(body).inputs[port]; }
  ValueId BodyOutput(GraphId body, size_t port) const { return model_.graph(body).outputs[port]; }

  void Note(const std::string& place, std::string expected, DType found) {
    faults_.push_back({id_, place, std::move(expected), found});
  }

  void CheckPort(ValueId id, int variable, absl::string_view side, size_t port) {
    if (id == kNone) return;
    const Value& value = model_.value(id);
    const DType found = ElementType(value);
    if (found == DType::kUndefined) return;
    const bool is_allowed =
        value.is_tensor ? node_.schema->Allows(variable, found) : node_.schema->AllowsContained(variable, found);
    if (!is_allowed) return Note(absl::StrCat(side, port), "a type that its schema allows", found);
    if (variable >= static_cast<int>(node_.schema->variables().size())) return;
    const auto bound = absl::c_find_if(bound_, [&](const auto& one) { return one.first == variable; });
    if (bound == bound_.end()) {
      bound_.emplace_back(variable, found);
    } else if (bound->second != found) {
      Note(absl::StrCat(side, port),
           absl::StrCat(DTypeName(bound->second), " as at the other ports of its type variable"), found);
    }
  }

  void CheckJoin(ValueId from, ValueId to, const std::string& place) {
    const DType expected = ElementType(model_.value(from));
    const DType found = to == kNone ? DType::kUndefined : ElementType(model_.value(to));
    if (expected == DType::kUndefined || found == DType::kUndefined || expected == found) return;
    Note(place, absl::StrCat(DTypeName(expected), " as '", Escaped(model_.value(from).name), "' in its body"), found);
  }

  const Model& model_;
  const NodeId id_;
  const Node& node_;
  std::vector<TypeFault>& faults_;
  absl::InlinedVector<std::pair<int, DType>, 4> bound_;  // by type variable
};

absl::flat_hash_set<NodeId> NodesOf(const std::vector<TypeFault>& faults) {
  absl::flat_hash_set<NodeId> nodes;
  for (const TypeFault& fault : faults) nodes.insert(fault.node);
  return nodes;
}

}  // namespace

std::string Describe(const Model& model, const TypeFault& fault) {
  return absl::StrCat("node '", Escaped(NodePath(model, fault.node)), "' (", Escaped(model.node(fault.node).op_type()),
                      ") ", fault.place, ": expected ", fault.expected, ", found ", DTypeName(fault.found));
}

std::string Describe(const Model& model, const std::vector<TypeFault>& faults) {
  if (faults.empty()) return "";
  const size_t num_nodes = NodesOf(faults).size();
  return absl::StrCat(num_nodes, num_nodes == 1 ? " node has" : " nodes have",
                      " types that the operator does not allow at opset ", model.opset(""),
                      ", first: ", Describe(model, faults.front()));
}

std::vector<TypeFault> FindTypeFaults(const Model& model) {
  std::vector<TypeFault> faults;
  for (const GraphId graph : model.AllGraphs()) {
    for (NodeId id : model.NodesInOrder(graph)) {
      if (model.node(id).schema != nullptr) NodeCheck(model, id, faults).Run();
    }
  }
  return faults;
}

std::vector<TypeFault> FindSameFaults(const Model& model, const std::vector<TypeFault>& faults, NodeId first_made) {
  if (faults.empty()) return {};
  const absl::flat_hash_set<NodeId> nodes = NodesOf(faults);
  std::vector<TypeFault> found = FindTypeFaults(model);
  std::erase_if(found, [&](const TypeFault& fault) { return fault.node < first_made && !nodes.contains(fault.node); });
  return found;
}

absl::Status CheckTypes(const Model& model, const std::vector<TypeFault>& known) {
  absl::flat_hash_set<std::tuple<NodeId, std::string, DType>> expected;
  for (const TypeFault& fault : known) expected.emplace(fault.node, fault.place, fault.found);
  for (const TypeFault& fault : FindTypeFaults(model)) {
    if (!expected.contains({fault.node, fault.place, fault.found})) return absl::InternalError(Describe(model, fault));
  }
  return absl::OkStatus();
}

}  // namespace amp
