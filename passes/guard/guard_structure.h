// Guards of group "all" beyond "constants": what is known to go wrong in 16 bits by the shape of the graph.
//
//   positions, shape math, thresholds                                numbers that count, name or decide
//   decomposed norms, squares, wide values, long reductions, scatter reductions,
//   log-sum-exp by hand, state                                       numbers that overflow, vanish, cancel or stall
//   quantised, transposed batches                                    what runtimes do otherwise, or not at all
//
// Each guard is a file guard_<name>.{h,cc} and walks the unpainted graph. A vetoed vertex behaves as if its operator
// were denied: it stays high, and the denial is carried forward. More precise guards come first: the first reason
// stays. The last guard of the group, "demands", is in passes/demand.
#ifndef AMP_PASSES_GUARD_GUARD_STRUCTURE_H_
#define AMP_PASSES_GUARD_GUARD_STRUCTURE_H_

#include "passes/guard/guarded_graph.h"

namespace amp {

// Linear in nodes and uses.
void GuardStructure(const GuardedGraph& graph, VetoList& vetoes);

}  // namespace amp

#endif  // AMP_PASSES_GUARD_GUARD_STRUCTURE_H_
