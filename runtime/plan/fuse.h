// Finds fusions: groups of nodes that one kernel may compute together.
//
//   epilogues    c = Conv (x, W)   s = Add (c, r)   y = Relu (s)             one Conv with an epilogue
//   norms        d = Sub (x, ReduceMean (x)) ... y = Add (s, shift)          one LayerNorm
//   reductions   h = Cast (x)   y = ReduceSum (h)                            one ReduceSum that reads x
//   attention    s = MatMul (q, k) p = Softmax (s + m) y = MatMul (p, v)     one Attention
//   updates      v = Rmsprop (w, g, ...)   u = Rmsprop (x, h, ...)            one launch for all weights
//   chains       s = Mul (x, a)   t = Exp (s)   y = Sub (t, b)               one pass over x
//
// Values inside a fusion are read by no other node, so they need not exist. Values inside a chain are rounded to 16
// bits as the single nodes would round them; values inside other fusions are not. Whether a kernel supports the shapes
// is known only when it runs; if none does, the nodes run one by one.
#ifndef AMP_RUNTIME_PLAN_FUSE_H_
#define AMP_RUNTIME_PLAN_FUSE_H_

#include <vector>

#include "ir/graph/graph.h"
#include "runtime/plan/fusion.h"
#include "runtime/plan/fusion_rules.h"
#include "runtime/plan/session_options.h"

namespace amp {

// No node is in two fusions. `are_run`: by node; false for nodes whose results are constants by now. REQUIRES: types
// are inferred.
std::vector<Fusion> FindFusions(const Model& model, const IdVector<NodeId, bool>& are_run,
                                const SessionOptions& options, const FusionRules& rules);

}  // namespace amp

#endif  // AMP_RUNTIME_PLAN_FUSE_H_
