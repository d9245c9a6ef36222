#include "passes/cast/insert_casts.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ir/base/check.h"
#include "ir/base/status.h"
#include "ir/graph/control_flow.h"
#include "ir/graph/insert_nodes.h"
#include "ir/graph/shape.h"
#include "ir/operators/operator_facts.h"

namespace amp {
namespace {

GraphId Outside(const Model& model, GraphId body) { return model.node(model.graph(body).owner).graph; }

// The outermost scope in which a conversion for `use` can stand without running in vain. Graphs of operators that are
// no control flow are left alone.
GraphId ConversionScope(const Model& model, const Use& use, GraphId home) {
  GraphId scope = use.graph;
  for (GraphId around = scope; around != home; around = Outside(model, around)) {
    if (KindOfBody(model, around) == BodyKind::kOpaque) scope = Outside(model, around);
  }
  if (use.IsGraphOutput() && scope == use.graph) return scope;
  while (scope != home && KindOfBody(model, scope) == BodyKind::kRepeated) scope = Outside(model, scope);
  return scope;
}

class CastPlanner {
 public:
  CastPlanner(const Model& model, const VertexGraph& graph, const Paint& paint, const ReleasedIo& released, DType low)
      : model_(model), graph_(graph), paint_(paint), released_(released), low_(low) {}

  CastPlan Plan() {
    for (GraphId scope : graph_.scopes()) PlanScope(scope);
    return std::move(plan_);
  }

 private:
  void PlanScope(GraphId scope) {
    const Graph& graph = model_.graph(scope);
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      if (!model_.IsConstant(graph.inputs[i])) {
        PlanValue(graph.inputs[i], scope == kMainGraph ? std::optional(i) : std::nullopt);
      }
    }
    for (ValueId id : graph.initializers) {
      if (model_.IsConstant(id)) PlanConstant(id);
    }
    if (scope == kMainGraph) {
      for (const ValueId id : model_.AllValues()) {
        if (IsStoredButNotConstant(id)) PlanValue(id, std::nullopt);
      }
    }
    for (NodeId node : model_.NodesInOrder(scope)) {
      for (const ValueId out : model_.node(node).PresentOutputs()) {
        model_.IsConstant(out) ? PlanConstant(out) : PlanValue(out, std::nullopt);
      }
    }
  }

  bool IsLow(VertexId v) const { return v != kNone && paint_[v].low; }
  bool ReadsLow(const Use& use, bool produced_low) const {
    if (use.IsModelOutput()) return released_.outputs[use.port] && produced_low;
    return IsLow(graph_.OfUse(use));
  }

  // Only a shape is read, by a node that nobody excluded, whose operator knows the low type at this opset.
  bool TakesEitherType(const Use& use) const {
    if (use.IsGraphOutput() || !ReadsShapeAlone(model_.node(use.node), use.port)) return false;
    const VertexId v = graph_.OfUse(use);
    return v != kNone && graph_[v].can_be_low && paint_[v].reason.kind != ReasonKind::kNotProcessed;
  }

  // A sparse initializer, or one that training updates.
  bool IsStoredButNotConstant(ValueId id) const {
    const Value& value = model_.value(id);
    const bool is_stored = value.producer == kNone && !value.is_graph_input;
    return is_stored && !model_.IsConstant(id);
  }

  void PlanConstant(ValueId id) {
    const Value& value = model_.value(id);
    if (!value.is_tensor || value.dtype != DType::kFloat32) return;
    CastPlan::Constant constant{id, {}, {}, {}};
    for (const Use& use : value.uses) {
      (ReadsLow(use, false)   ? constant.low_readers
       : TakesEitherType(use) ? constant.shape_readers
                              : constant.high_readers)
          .push_back(use);
    }
    if (!constant.low_readers.empty()) plan_.constants.push_back(std::move(constant));
  }

  void PlanValue(ValueId id, std::optional<size_t> input_position) {
    const Value& value = model_.value(id);
    if (ElementType(value) != DType::kFloat32) return;
    bool low = IsLow(graph_.OfValue(id));
    if (input_position.has_value() && released_.inputs[*input_position]) {
      low = std::any_of(value.uses.begin(), value.uses.end(), [&](const Use& use) { return ReadsLow(use, false); });
      if (low) plan_.low_inputs.push_back(*input_position);
    }
    if (low) plan_.low_values.push_back(id);

    std::vector<Use> readers;  // in the other type
    for (const Use& use : value.uses) {
      const bool is_content = input_position.has_value() && low && TakesEitherType(use);
      if (ReadsLow(use, low) != low && (low || !use.IsModelOutput()) && !is_content) readers.push_back(use);
    }
    AMP_CHECK(value.is_tensor || readers.empty());  // groups see to it
    if (readers.empty()) return;
    PlannedCasts casts{id, DType::kFloat32, low_, PlaceConversions(model_, id, readers)};
    if (low) std::swap(casts.from, casts.to);
    plan_.casts.push_back(std::move(casts));
  }

  const Model& model_;
  const VertexGraph& graph_;
  const Paint& paint_;
  const ReleasedIo& released_;
  const DType low_;
  CastPlan plan_;
};

}  // namespace

ReaderNames::ReaderNames(const Model& model) : model_(model), paths_(FindNodePaths(model)) {
  for (const GraphId graph : model.AllGraphs()) {
    std::vector<std::string>& names = outputs_[outputs_.emplace_back()];
    for (ValueId output : model.graph(graph).outputs) names.push_back(model.value(output).name);
  }
}

std::string ReaderNames::Of(const Use& use) const {
  if (!use.IsGraphOutput()) {
    return paths_.nodes.contains(use.node) ? paths_.nodes[use.node] : model_.NodeLabel(use.node);
  }
  const std::string& name = outputs_[use.graph][use.port];
  const std::string& body = paths_.graphs[use.graph];
  return absl::StrCat("(output ", name, body.empty() ? "" : " of ", body, ")");
}

CastPlan PlanCasts(const Model& model, const VertexGraph& graph, const Paint& paint, const ReleasedIo& released,
                   DType low) {
  return CastPlanner(model, graph, paint, released, low).Plan();
}

std::vector<ScopedReaders> PlaceConversions(const Model& model, ValueId value, const std::vector<Use>& readers) {
  const GraphId home = model.value(value).graph;
  std::vector<GraphId> scopes;
  scopes.reserve(readers.size());
  for (const Use& use : readers) scopes.push_back(ConversionScope(model, use, home));
  const absl::flat_hash_set<GraphId> converting(scopes.begin(), scopes.end());

  std::vector<ScopedReaders> places;
  absl::flat_hash_map<GraphId, size_t> place_of;
  for (size_t i = 0; i < readers.size(); ++i) {
    GraphId outermost = scopes[i];
    for (GraphId around = scopes[i]; converting.size() > 1 && around != home;) {
      around = Outside(model, around);
      if (converting.contains(around)) outermost = around;
    }
    const auto [it, is_new] = place_of.try_emplace(outermost, places.size());
    if (is_new) places.push_back({outermost, {}});
    places[it->second].readers.push_back(readers[i]);
  }
  return places;
}

NodeId CastInserter::InsertOne(ValueId value, DType to, GraphId scope) {
  NodeId anchor = model_.value(value).graph == scope ? model_.value(value).producer : kNone;
  const bool at_front = anchor == kNone;
  if (const auto it = front_.find(scope); at_front && it != front_.end()) anchor = it->second;
  const std::string name = model_.UniqueName(absl::StrCat(model_.value(value).name, "_to_", DTypeName(to)));
  const NodeId node = InsertCast(model_, {scope, anchor}, value, to, {name, name});
  if (at_front) front_[scope] = node;
  return node;
}

std::vector<NodeId> CastInserter::Insert(ValueId value, DType to, absl::Span<const ScopedReaders> places) {
  std::vector<NodeId> nodes;
  std::vector<Model::UseMove> moves;
  for (const ScopedReaders& place : places) {
    nodes.push_back(InsertOne(value, to, place.scope));
    for (const Use& use : place.readers) moves.push_back({use, model_.node(nodes.back()).Output(0)});
  }
  model_.MoveUses(value, moves);
  return nodes;
}

std::vector<InsertedCast> ApplyCasts(Model& model, const CastPlan& plan, DType low) {
  for (ValueId id : plan.low_values) model.SetElementType(id, low);

  std::vector<InsertedCast> inserted;
  CastInserter inserter(model);
  for (const PlannedCasts& casts : plan.casts) {
    const size_t first = inserted.size();
    for (size_t i = 0; i < casts.places.size(); ++i) {
      inserted.push_back({kNone, casts.value, casts.from, casts.to, {}, NumElements(model, casts.value)});
    }
    const std::string public_name = model.value(casts.value).name;
    const std::vector<NodeId> nodes = inserter.Insert(casts.value, casts.to, casts.places);
    for (size_t i = 0; i < nodes.size(); ++i) {
      inserted[first + i].node = nodes[i];
      const auto& readers = casts.places[i].readers;
      const auto is_public = [](const Use& use) { return use.IsModelOutput(); };
      if (!std::any_of(readers.begin(), readers.end(), is_public)) continue;
      model.TakeOverGraphOutputs(casts.value, model.node(nodes[i]).Output(0),
                                 model.UniqueName(absl::StrCat(public_name, "_", DTypeName(casts.from))));
    }
  }
  const auto& outputs = model.graph(kMainGraph).outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (model.value(outputs[i]).dtype == low) model.SetGraphOutputType(i, low);
  }
  return inserted;
}

void UpdateTypeAttributes(Model& model, const VertexGraph& graph, const Paint& paint) {
  for (NodeId node : graph.order()) {
    const auto vertices = graph.OfNode(node);
    const auto is_low = [&](VertexId v) { return paint[v].low; };
    if (std::any_of(vertices.begin(), vertices.end(), is_low)) SyncTypeAttributes(model, node);
  }
}

}  // namespace amp
