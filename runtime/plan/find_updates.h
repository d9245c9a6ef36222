// Fuses optimizer steps for several weights, which a device computes in one launch.
//
//   v = Rmsprop (w, g, ...)   u = Rmsprop (x, h, ...)     =>     v, u = Rmsprop (w, g, ..., x, h, ...)
//
// A fused pattern consists of nodes of one operator, with the same attributes, rates and truth value, whose results are
// outputs of the graph and are read by no node. It runs where the last of its nodes ran, so that the gradients live
// until then.
#ifndef AMP_RUNTIME_PLAN_FIND_UPDATES_H_
#define AMP_RUNTIME_PLAN_FIND_UPDATES_H_

#include <vector>

#include "ir/graph/graph.h"
#include "runtime/kernel/fused_optimizer.h"
#include "runtime/plan/fusion.h"

namespace amp {

using FindFusedUpdate = const FusedOptimizer* (*)(absl::string_view domain, absl::string_view op_type);

// Appends fusions of nodes that are in no fusion yet.
void FindUpdates(const Model& model, FindFusedUpdate find_fused, FusedNodes& taken, std::vector<Fusion>& fusions);

}  // namespace amp

#endif  // AMP_RUNTIME_PLAN_FIND_UPDATES_H_
