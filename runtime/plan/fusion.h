// Nodes that one kernel may compute together; plan/fuse.h says which kinds there are.
#ifndef AMP_RUNTIME_PLAN_FUSION_H_
#define AMP_RUNTIME_PLAN_FUSION_H_

#include <memory>
#include <vector>

#include "ir/graph/graph.h"
#include "runtime/kernel/epilogue.h"
#include "runtime/kernel/kernel.h"

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

}  // namespace amp

#endif  // AMP_RUNTIME_PLAN_FUSION_H_
