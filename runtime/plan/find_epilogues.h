// Finds epilogues: nodes that a matrix product or a convolution applies to its result before it stores it.
//
//   c = Conv (x, W)   s = Add (c, r)   y = Relu (s)      one Conv, epilogue add(r), relu
//   h = MatMul (x, W) b = Add (h, bias) y = Gelu (b), written out     one MatMul, epilogue add(bias), gelu
#ifndef AMP_RUNTIME_PLAN_FIND_EPILOGUES_H_
#define AMP_RUNTIME_PLAN_FIND_EPILOGUES_H_

#include <functional>
#include <vector>

#include "ir/graph/graph.h"
#include "runtime/plan/fusion.h"

namespace amp {

// Whether a product or convolution has a kernel that takes epilogues.
using MayHaveEpilogue = std::function<bool(NodeId)>;

// Appends fusions of nodes that are in none yet. REQUIRES: types are inferred.
void FindEpilogues(const Model& model, const MayHaveEpilogue& may_have, FusedNodes& taken,
                   std::vector<Fusion>& fusions);

}  // namespace amp

#endif  // AMP_RUNTIME_PLAN_FIND_EPILOGUES_H_
