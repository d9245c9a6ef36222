// Guard "quantised": matrix work on numbers of 8 bits stays high.
//
//   DequantizeLinear(x), DequantizeLinear(w) -> Conv -> QuantizeLinear    runtimes multiply 8 bits  -> stays float32
//   the same, moved ahead of the Conv                                                               -> stays float32
//   x, DequantizeLinear(w) -> MatMul                                      weights alone are 8-bit    -> passes
//
// Integers are multiplied exactly. A 16-bit product is rounded ahead of QuantizeLinear, where a last bit decides
// between two steps of 8 bits. Casts between the three keep runtimes from making one operator of them.
#ifndef AMP_PASSES_GUARD_GUARD_QUANTISED_H_
#define AMP_PASSES_GUARD_GUARD_QUANTISED_H_

#include "passes/guard/guarded_graph.h"

namespace amp {

// Linear in nodes.
void GuardQuantised(const GuardedGraph& graph, VetoList& vetoes);

}  // namespace amp

#endif  // AMP_PASSES_GUARD_GUARD_QUANTISED_H_
