// Guard "squares": squares that are added up, averaged, or brought under a root or a logarithm stay high.
//
//   Mul(x, x) -> ReduceMean                       both stay float32
//   Pow(re, 2) + Pow(im, 2) -> Sqrt               a magnitude: all of it
//   Pow(re, 2) + Pow(im, 2) -> MatMul(mel) -> Log a power spectrum: the product sums squares, and stays float32 too
//   ReduceMean(x * x) - m * m                     a difference of such sums: m and its square as well
//   Relu -> Mul(x, x) -> MatMul                   an activation that happens to be squared   -> passes
//   Mul(Mul(x, x), x) -> Add                      a cube, part of a polynomial               -> passes
//
// A square leaves float16 from a magnitude of 256 on, although its mean's root does not; bfloat16 keeps 8 bits of a
// difference of sums of squares.
#ifndef AMP_PASSES_GUARD_GUARD_SQUARES_H_
#define AMP_PASSES_GUARD_GUARD_SQUARES_H_

#include "passes/guard/guarded_graph.h"

namespace amp {

// Linear in nodes and uses.
void GuardSquares(const GuardedGraph& graph, VetoList& vetoes);

}  // namespace amp

#endif  // AMP_PASSES_GUARD_GUARD_SQUARES_H_
