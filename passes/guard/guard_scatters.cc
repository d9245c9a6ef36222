#include "passes/guard/guard_scatters.h"

#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/operators/node_facts.h"
#include "ir/operators/operator_facts.h"

namespace amp {
namespace {

constexpr absl::string_view kAttribute = "reduction";

// Whether a node that moves elements combines them, as its attribute says.
bool Combines(const GuardedGraph& graph, NodeId id) {
  return graph.roles(id).Has(Role::kMoves) && graph.node(id).op->copies_where.name == kAttribute &&
         !CopiesElements(graph.model(), id);
}

}  // namespace

void GuardScatters(const GuardedGraph& graph, VetoList& vetoes) {
  for (const NodeId id : graph.order()) {
    if (!Combines(graph, id)) continue;
    const std::string reduction = NodeFact(graph.model(), id, kAttribute).value_or("unknown");
    vetoes.AddNode(id, absl::StrCat("scatter reductions: combines (", Escaped(reduction),
                                    ") any number of values in one element; ", graph.LowName(),
                                    " kernels round every step, or are missing"));
  }
}

}  // namespace amp
