// Finds chains: element-wise nodes that one kernel computes in one pass over the elements.
//
//   s = Mul (x, a)   t = Exp (s)   u = Greater (t, b)   y = Where (u, t, x)      a chain of four steps, inputs x, a, b
//
// A node joins the nodes that read its result if these are all in one chain, nobody else reads the result, and the
// result has the shape of the chain's result, as far as shapes are known.
#ifndef AMP_RUNTIME_PLAN_FIND_CHAINS_H_
#define AMP_RUNTIME_PLAN_FIND_CHAINS_H_

#include <vector>

#include "ir/graph/graph.h"
#include "runtime/plan/fusion.h"

namespace amp {

// Appends chains of nodes that are in no fusion yet; the kernels `rows` will compute them. REQUIRES: types are
// inferred.
void FindChains(const Model& model, const std::vector<const KernelRow*>& rows, FusedNodes& taken,
                std::vector<Fusion>& fusions);

}  // namespace amp

#endif  // AMP_RUNTIME_PLAN_FIND_CHAINS_H_
