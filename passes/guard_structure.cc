#include "passes/guard_structure.h"

#include "passes/guard_identifiers.h"
#include "passes/guard_log_sum_exp.h"
#include "passes/guard_norms.h"
#include "passes/guard_positions.h"
#include "passes/guard_reductions.h"
#include "passes/guard_shape_math.h"
#include "passes/guard_squares.h"
#include "passes/guard_state.h"
#include "passes/guard_thresholds.h"
#include "passes/guarded_graph.h"

namespace amp {

std::vector<Veto> GuardStructure(const Model& model, const VertexGraph& vertices, const std::vector<NodeTraits>& traits,
                                 const TargetPromises& promises, ExternalData* external) {
  const GuardedGraph graph(model, vertices, traits, promises, external);
  VetoList vetoes(graph, traits);
  GuardIdentifiers(graph, vetoes);
  GuardPositions(graph, vetoes);
  GuardShapeMath(graph, vetoes);
  GuardThresholds(graph, vetoes);
  GuardNorms(graph, vetoes);
  GuardSquares(graph, vetoes);
  GuardReductions(graph, vetoes);
  GuardLogSumExp(graph, vetoes);
  GuardState(graph, vetoes);
  return vetoes.Take();
}

}  // namespace amp
