// Which nodes one kernel may compute together.
//
//   c = Conv (x, W)   s = Add (c, r)   y = Relu (s)       one Conv, epilogue add(r), relu
//   h = MatMul (x, W) b = Add (h, bias) y = Gelu (b), written out       one MatMul, epilogue add(bias), gelu
//
// What is inside a fusion is read by nobody else, so nobody misses it, and in 16 bits it is not rounded on its way.
// Whether a kernel takes the shapes is seen when it runs: else the nodes run one by one.
#ifndef AMP_RUNTIME_FUSE_H_
#define AMP_RUNTIME_FUSE_H_

#include <vector>

#include "ir/graph/graph.h"
#include "runtime/kernel/epilogue.h"

namespace amp {

struct Fusion {
  std::vector<NodeId> nodes;  // the first is what has the epilogue
  Epilogue epilogue = {};
  std::vector<ValueId> operands = {};  // what the epilogue reads, behind the inputs of the first node
  ValueId result = kNone;
};

// No node is in two of them. REQUIRES: types are inferred.
std::vector<Fusion> FindFusions(const Model& model);

}  // namespace amp

#endif  // AMP_RUNTIME_FUSE_H_
