#include "passes/decide/decide_rewrite.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/base/status.h"
#include "ir/operators/operator_facts.h"
#include "ir/opset/opset_adapters.h"
#include "passes/cast/match_norm_types.h"
#include "passes/decide/collect_traits.h"
#include "passes/demand/guard_demands.h"
#include "passes/guard/guard_constants.h"
#include "passes/guard/guard_masks.h"
#include "passes/guard/guard_observed.h"
#include "passes/guard/guard_structure.h"

namespace amp {
namespace {

// TensorFlow's plain rules leave statistics in float32; importers of models want one type for all.
Statistics StatisticsType(const RewriteSettings& settings) {
  return settings.guards == Guards::kNone ? Statistics::kKeepTheirType : Statistics::kFollowInput;
}

// Without one nothing becomes low, and guards have nothing to look at.
bool HasSeed(const VertexGraph& graph, const IdVector<NodeId, NodeTraits>& traits, const RewriteSettings& settings) {
  if (settings.paint.level == Level::kUnsafeForceAll) return true;
  for (const VertexId v : graph.ids()) {
    const NodeTraits& trait = traits[graph[v].node];
    if (trait.op_class == OpClass::kAllow && trait.processed && graph[v].is_high && graph[v].can_be_low) return true;
  }
  return false;
}

absl::StatusOr<std::vector<Veto>> FindVetoes(const Model& model, const VertexGraph& graph,
                                             const IdVector<NodeId, NodeTraits>& traits, const DecisionInputs& inputs) {
  const RewriteSettings& settings = inputs.settings;
  std::vector<Veto> vetoes;
  if (settings.guards == Guards::kNone || !HasSeed(graph, traits, settings)) return vetoes;
  const auto add = [&](VetoList list) {
    const std::vector<Veto> more = list.Take();
    vetoes.insert(vetoes.end(), more.begin(), more.end());
  };
  if (settings.guards == Guards::kAll || settings.observed != nullptr) {
    const GuardedGraph guarded(model, graph, traits, settings.target.promises);
    if (settings.guards == Guards::kAll) {
      VetoList list(guarded, traits);
      GuardStructure(guarded, list);
      GuardMasks(guarded, settings.observed.get(), list);
      AMP_RETURN_IF_ERROR(settings.MayGoOn());
      GuardDemands(guarded, settings.observed.get(), list);
      add(std::move(list));
    }
    if (settings.observed != nullptr) {
      VetoList list(guarded, traits);
      GuardObserved(guarded, *settings.observed, settings.max_weight_error, list);
      for (Veto& veto : list.Take()) {
        veto.is_alone = true;
        vetoes.push_back(std::move(veto));
      }
    }
  }
  AMP_RETURN_IF_ERROR(settings.MayGoOn());
  ConstantGuardOptions options;
  options.max_weight_error = settings.max_weight_error;
  options.are_cast = settings.weights == WeightMode::kCast;
  AMP_ASSIGN_OR_RETURN(const std::vector<Veto> more, GuardConstants(model, graph, traits, inputs.survey, options));
  vetoes.insert(vetoes.end(), more.begin(), more.end());  // a constant's numbers say most: they are told last
  for (const HeldNode& held : inputs.held) {
    const VertexId vertex = graph.OfOutput(held.node, 0);
    if (vertex != kNone) vetoes.push_back({vertex, held.why});
  }
  return vetoes;
}

// float16 keeps the model's opset unless a converted operator would force its statistics into 16 bits there, and they
// are to keep their type.
int OpsetForStatistics(const Model& model, const Decision& decision, const RewriteSettings& settings) {
  if (settings.opset.kind != OpsetChoice::Kind::kAuto) return 0;
  if (StatisticsType(settings) == Statistics::kFollowInput) return 0;
  int wanted = 0;
  for (const VertexId v : decision.graph.ids()) {
    if (!decision.paint[v].low) continue;
    wanted = std::max(wanted, OpsetWithSeparateStatistics(model.node(decision.graph[v].node)));
  }
  return wanted;
}

}  // namespace

bool Decision::ConvertsNothing() const {
  return std::none_of(paint.begin(), paint.end(), [](const VertexPaint& vertex) { return vertex.low; });
}

NodeSet NodesHeldByOneGuard(const Model& model, const Decision& decision) {
  absl::flat_hash_map<VertexId, int> num_vetoes;
  for (const Veto& veto : decision.vetoes) ++num_vetoes[veto.vertex];
  NodeSet held;
  for (const auto& [vertex, count] : num_vetoes) {
    const NodeId node = decision.graph[vertex].node;
    const bool is_held = count == 1 && decision.paint[vertex].reason.kind == ReasonKind::kGuard;
    const bool is_its_result = !model.node(node).outputs.empty() && decision.graph.OfOutput(node, 0) == vertex;
    if (is_held && is_its_result && decision.classes.nodes[node].op_class == OpClass::kAllow) held.insert(node);
  }
  return held;
}

absl::StatusOr<Decision> Decide(const Model& model, const DecisionInputs& inputs) {
  const RewriteSettings& settings = inputs.settings;
  Decision decision{.classes = ClassifyNodes(model, inputs.lists, settings.target.promises),
                    .graph = VertexGraph(model, settings.low, StatisticsType(settings), inputs.batch_norms.replaceable),
                    .released = inputs.released.Positions(model)};
  for (const NodeId id : inputs.freed) decision.classes.nodes[id].op_class = OpClass::kInfer;
  for (const HeldNode& held : inputs.held) decision.classes.nodes[held.node] = {.op_class = OpClass::kInfer};
  const IdVector<NodeId, NodeTraits> traits =
      CollectTraits(model, decision.classes, {inputs.faults, inputs.batch_norms.stay_float32}, settings);
  AMP_RETURN_IF_ERROR(settings.MayGoOn());
  AMP_ASSIGN_OR_RETURN(decision.vetoes, FindVetoes(model, decision.graph, traits, inputs));
  const absl::flat_hash_set<NodeId> freed(inputs.freed.begin(), inputs.freed.end());
  std::erase_if(decision.vetoes, [&](const Veto& veto) { return freed.contains(decision.graph[veto.vertex].node); });
  PaintOptions options = settings.paint;
  options.follow = inputs.lists.follow();
  options.placement = inputs.lists.placement();
  options.target_can_run = settings.target.can_run_low;
  AMP_RETURN_IF_ERROR(settings.MayGoOn());
  decision.paint = PaintGraph(model, decision.graph, traits, decision.vetoes, decision.released, options);
  if (settings.guards != Guards::kNone && inputs.freed.empty()) {
    MatchNormTypes(model, decision.graph, decision.released, decision.paint);
  }
  decision.opset = OpsetForStatistics(model, decision, settings);
  return decision;
}

}  // namespace amp
