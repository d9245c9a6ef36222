#include "passes/guard/guard_reductions.h"

#include "absl/strings/str_format.h"

namespace amp {

void GuardReductions(const GuardedGraph& graph, VetoList& vetoes) {
  const DType low = graph.vertices().low();
  if (low != DType::kFloat16 || graph.promises().float32_accumulation) return;
  for (const NodeId id : graph.order()) {
    if (!graph.roles(id).Has(Role::kSums) || !(graph.IsUndecided(id) || graph.IsAllowed(id))) continue;
    const int64_t summed = SummedElements(graph.model(), id);
    if (summed <= CountsExactlyTo(low)) continue;
    vetoes.AddOutput(id, 0,
                     absl::StrFormat("long reductions: adds up %d elements, a float16 sum of ones stops at %d", summed,
                                     CountsExactlyTo(low)));
  }
}

}  // namespace amp
