// Element-wise nodes that one pass computes.
//
//   s = Mul (x, a)   t = Exp (s)   u = Greater (t, b)   y = Where (u, t, x)      one chain of four steps, inputs x, a, b
//
// A node joins those that read it, where they are in one chain already and nobody else reads it, and where it has the
// shape of what the chain gives as far as shapes are known.
#ifndef AMP_RUNTIME_PLAN_FIND_CHAINS_H_
#define AMP_RUNTIME_PLAN_FIND_CHAINS_H_

#include <vector>

#include "ir/graph/graph.h"
#include "runtime/plan/fusion.h"

namespace amp {

// Appends fusions of nodes that are in none yet, which these rows are to compute. REQUIRES: types are inferred.
void FindChains(const Model& model, const std::vector<const KernelRow*>& rows, FusedNodes& taken,
                std::vector<Fusion>& fusions);

}  // namespace amp

#endif  // AMP_RUNTIME_PLAN_FIND_CHAINS_H_
