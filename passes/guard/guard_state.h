// Guard "state": values that a caller feeds back step after step stay high: optimizer moments, counters, averages.
//
//   m_next = m * 0.999 + g * 0.001       m, m_next: input and output of one shape, element-wise arithmetic between them
//   step_next = step + 1, sum_next = sum + x
//   BatchNormalization's running mean and variance
//   c_next = forget * c + ...            decays by a computed gate, not by a constant         -> passes
//   y = x + Conv(x)                      an allowed operator reads x: data, not state         -> passes
//
// A step smaller than half a unit in the last place is lost every time: at 1.0 bfloat16 forgets all below 0.004. In a
// graph that holds a loss, weights are state although allowed operators read them: w_next = w - rate * gradient.
#ifndef AMP_PASSES_GUARD_GUARD_STATE_H_
#define AMP_PASSES_GUARD_GUARD_STATE_H_

#include "passes/guard/guarded_graph.h"

namespace amp {

// Linear in nodes and uses: a step whose search overdraws its SearchBudget is none.
void GuardState(const GuardedGraph& graph, VetoList& vetoes);

}  // namespace amp

#endif  // AMP_PASSES_GUARD_GUARD_STATE_H_
