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
#ifndef AMP_RUNTIME_FUSE_H_
#define AMP_RUNTIME_FUSE_H_

#include <memory>
#include <vector>

#include "ir/graph/graph.h"
#include "runtime/kernel/epilogue.h"
#include "runtime/kernel/kernel.h"
#include "runtime/session.h"

namespace amp {

struct Fusion {
  std::vector<NodeId> nodes;  // the first is what has the epilogue; of a unit the last gives the result
  Epilogue epilogue = {};
  std::vector<ValueId> operands = {};  // what the epilogue reads, behind the inputs of the first node; a unit's inputs
  ValueId result = kNone;
  std::vector<ValueId> results = {};  // instead, of a unit with several
  // Of a unit, which kernels of its own compute: they find there what they have to know of the nodes.
  std::vector<const KernelRow*> rows = {};
  std::unique_ptr<KernelState> form = nullptr;

  bool IsUnit() const { return !rows.empty(); }
};

// Whether a node is in a fusion.
using FusedNodes = IdVector<NodeId, bool>;

// No node is in two of them. `are_run`: by node, false for what is a constant by now. REQUIRES: types are inferred.
std::vector<Fusion> FindFusions(const Model& model, const IdVector<NodeId, bool>& are_run,
                                const SessionOptions& options);

}  // namespace amp

#endif  // AMP_RUNTIME_FUSE_H_
