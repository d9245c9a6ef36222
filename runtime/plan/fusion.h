// Groups of nodes that one kernel may compute together; plan/fuse.h lists the kinds.
#ifndef AMP_RUNTIME_PLAN_FUSION_H_
#define AMP_RUNTIME_PLAN_FUSION_H_

#include <memory>
#include <vector>

#include "ir/graph/graph.h"
#include "runtime/kernel/epilogue.h"
#include "runtime/kernel/kernel.h"

namespace amp {

struct Fusion {
  std::vector<NodeId> nodes;  // the first one has the epilogue; in a fused pattern, the last one gives the result
  Epilogue epilogue = {};
  std::vector<ValueId> operands = {};  // of the epilogue, behind the first node's inputs; or a fused pattern's inputs
  ValueId result = kNone;
  std::vector<ValueId> results = {};  // used instead of `result` by fused patterns with several results
  // For a fused pattern: the kernels that compute it, and the state that tells them about its nodes.
  std::vector<const KernelRow*> rows = {};
  std::unique_ptr<KernelState> form = nullptr;

  bool IsFusedPattern() const { return !rows.empty(); }
};

// Whether a node is in a fusion.
using FusedNodes = IdVector<NodeId, bool>;

}  // namespace amp

#endif  // AMP_RUNTIME_PLAN_FUSION_H_
