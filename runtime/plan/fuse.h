// Which nodes one kernel may compute together.
//
//   epilogues    c = Conv (x, W)   s = Add (c, r)   y = Relu (s)             one Conv, with what is behind it
//   norms        d = Sub (x, ReduceMean (x)) ... y = Add (s, shift)          one LayerNorm
//   reductions   h = Cast (x)   y = ReduceSum (h)                            one ReduceSum that reads x
//   attention    s = MatMul (q, k) p = Softmax (s + m) y = MatMul (p, v)     one Attention
//   updates      v = Rmsprop (w, g, ...)   u = Rmsprop (x, h, ...)            one launch for all weights
//   chains       s = Mul (x, a)   t = Exp (s)   y = Sub (t, b)               one pass over x
//
// What is inside a fusion is read by nobody else, so nobody misses it. In 16 bits it is not rounded on its way, but for
// what is inside a chain. Whether a kernel takes the shapes is seen when it runs: else the nodes run one by one.
#ifndef AMP_RUNTIME_PLAN_FUSE_H_
#define AMP_RUNTIME_PLAN_FUSE_H_

#include <vector>

#include "ir/graph/graph.h"
#include "runtime/plan/fusion.h"
#include "runtime/plan/fusion_rules.h"
#include "runtime/plan/session_options.h"

namespace amp {

// No node is in two of them. `are_run`: by node, false for what is a constant by now. REQUIRES: types are inferred.
std::vector<Fusion> FindFusions(const Model& model, const IdVector<NodeId, bool>& are_run,
                                const SessionOptions& options, const FusionRules& rules);

}  // namespace amp

#endif  // AMP_RUNTIME_PLAN_FUSE_H_
