#include "passes/cast/match_norm_types.h"

#include <algorithm>

#include "ir/operators/operator_roles.h"

namespace amp {
namespace {

// The first opset with a LayerNormalization, whose input, scale and shift have one type.
constexpr int kOneTypeSince = 17;

class NormTypes {
 public:
  NormTypes(const Model& model, const VertexGraph& graph, const ReleasedIo& released, Paint& paint)
      : model_(model), graph_(graph), released_(released), paint_(paint) {}

  void Match(NodeId division) {
    const ValueId normalised = NormalisedBy(division);
    const VertexId source = normalised == kNone ? kNone : LowVertex(normalised);
    if (source == kNone || IsLow(graph_.OfOutput(division, 0))) return;
    const NodeId scale = OnlyReader(division, Role::kMultiplies);
    const NodeId shift = scale == kNone ? kNone : OnlyReader(scale, Role::kAdds);
    if (shift == kNone) return;
    Lower(graph_.OfOutput(scale, 0), source);
    Lower(graph_.OfOutput(shift, 0), source);
  }

 private:
  bool Has(NodeId node, Role role) const { return node != kNone && RolesOf(model_, node).Has(role); }
  // An operand of a node that is there; kNone where it has none.
  ValueId Operand(NodeId node, size_t port) const {
    const auto& inputs = model_.node(node).inputs;
    return port < inputs.size() ? inputs[port] : kNone;
  }
  NodeId Producer(NodeId node, size_t port) const {
    const ValueId value = Operand(node, port);
    return value == kNone ? kNone : model_.value(value).producer;
  }
  bool IsLow(VertexId v) const { return v != kNone && paint_[v].low; }

  // a, of a division (a - mean(a)) / root(...); kNone for others.
  ValueId NormalisedBy(NodeId division) const {
    if (!Has(division, Role::kDivides)) return kNone;
    const NodeId centring = Producer(division, 0), root = Producer(division, 1);
    if (!Has(centring, Role::kSubtracts) || root == kNone || !TakesRoot(model_, root)) return kNone;
    const ValueId normalised = Operand(centring, 0);
    const NodeId mean = Producer(centring, 1);
    return Has(mean, Role::kSums) && Operand(mean, 0) == normalised ? normalised : kNone;
  }

  // A vertex for which the value is low: its producer, or the low reader of a released input; kNone where it is
  // float32.
  VertexId LowVertex(ValueId value) const {
    if (const VertexId producer = graph_.OfValue(value); producer != kNone) return IsLow(producer) ? producer : kNone;
    const auto& inputs = model_.graph(kMainGraph).inputs;
    const auto input = std::find(inputs.begin(), inputs.end(), value);
    if (input == inputs.end() || !released_.inputs[static_cast<size_t>(input - inputs.begin())]) return kNone;
    for (const Use& use : model_.value(value).uses) {
      if (IsLow(graph_.OfUse(use))) return graph_.OfUse(use);
    }
    return kNone;
  }

  // The reader of the node's one result, if there is one reader alone and it has the role.
  NodeId OnlyReader(NodeId node, Role role) const {
    const auto& outputs = model_.node(node).outputs;
    if (outputs.size() != 1 || outputs[0] == kNone) return kNone;
    const auto& uses = model_.value(outputs[0]).uses;
    return uses.size() == 1 && !uses[0].IsGraphOutput() && Has(uses[0].node, role) ? uses[0].node : kNone;
  }

  void Lower(VertexId v, VertexId source) {
    if (v == kNone) return;
    VertexPaint& paint = paint_[v];
    const Vertex& vertex = graph_[v];
    const ReasonKind why = paint.reason.kind;
    const bool is_downstream =
        why == ReasonKind::kDeniedByPath || why == ReasonKind::kNoAllowedPath || why == ReasonKind::kLevel;
    const bool may_change = vertex.is_high && vertex.can_be_low && vertex.is_typed && graph_.GroupOf(v) == kNone;
    if (paint.low || !is_downstream || !may_change) return;
    paint.low = true;
    paint.denied = false;
    paint.reason = {ReasonKind::kMatches, source, ""};
  }

  const Model& model_;
  const VertexGraph& graph_;
  const ReleasedIo& released_;
  Paint& paint_;
};

}  // namespace

void MatchNormTypes(const Model& model, const VertexGraph& graph, const ReleasedIo& released, Paint& paint) {
  if (model.opset("") < kOneTypeSince) return;
  NormTypes types(model, graph, released, paint);
  for (const NodeId id : graph.order()) types.Match(id);
}

}  // namespace amp
