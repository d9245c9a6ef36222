#include "passes/guard/guard_structure.h"

#include "passes/guard/guard_log_sum_exp.h"
#include "passes/guard/guard_norms.h"
#include "passes/guard/guard_positions.h"
#include "passes/guard/guard_quantised.h"
#include "passes/guard/guard_reductions.h"
#include "passes/guard/guard_scatters.h"
#include "passes/guard/guard_shape_math.h"
#include "passes/guard/guard_squares.h"
#include "passes/guard/guard_state.h"
#include "passes/guard/guard_thresholds.h"
#include "passes/guard/guard_transposes.h"
#include "passes/guard/guard_wide_values.h"

namespace amp {

void GuardStructure(const GuardedGraph& graph, VetoList& vetoes) {
  GuardPositions(graph, vetoes);
  GuardShapeMath(graph, vetoes);
  GuardThresholds(graph, vetoes);
  GuardNorms(graph, vetoes);
  GuardSquares(graph, vetoes);
  GuardWideValues(graph, vetoes);
  GuardReductions(graph, vetoes);
  GuardScatters(graph, vetoes);
  GuardLogSumExp(graph, vetoes);
  GuardState(graph, vetoes);
  GuardQuantised(graph, vetoes);
  GuardTransposes(graph, vetoes);
}

}  // namespace amp
