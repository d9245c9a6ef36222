// Guard "displacements": what is added to positions and found again as a difference from them stays high in between.
//
//   coords = grid + delta;  flow = coords - grid      both stay float32, and so do moves and sums in between
//   a = grid - left;  b = grid + right;  b - a        a width by its edges: all three
//   coords = grid + delta, read as positions alone    their own rounding is no larger than theirs   -> passes
//   grid up to 7                                      a step at 7 is small beside a fraction of 1   -> passes
//
// A grid is a constant of whole numbers or halves, or what is computed from integers alone. float16 has steps of 1/2 at
// 1000: of a delta of 0.3 nothing is left.
#ifndef AMP_PASSES_GUARD_GUARD_DISPLACEMENTS_H_
#define AMP_PASSES_GUARD_GUARD_DISPLACEMENTS_H_

#include "passes/guard/guarded_graph.h"

namespace amp {

// Linear in nodes, uses and elements of constants.
void GuardDisplacements(const GuardedGraph& graph, VetoList& vetoes);

}  // namespace amp

#endif  // AMP_PASSES_GUARD_GUARD_DISPLACEMENTS_H_
