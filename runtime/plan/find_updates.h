// Steps of an optimizer for several weights, as one unit, which a device does in one launch.
//
//   v = Rmsprop (w, g, ...)   u = Rmsprop (x, h, ...)     =>     v, u = Rmsprop (w, g, ..., x, h, ...)
//
// Those of one operator, with the same attributes, rates and truth value, whose results the model gives back and nobody
// reads. The unit stands where the last of them stood, so that gradients live until then.
#ifndef AMP_RUNTIME_PLAN_FIND_UPDATES_H_
#define AMP_RUNTIME_PLAN_FIND_UPDATES_H_

#include <vector>

#include "ir/graph/graph.h"
#include "runtime/kernel/optimizer_unit.h"
#include "runtime/plan/fusion.h"

namespace amp {

using FindUpdateUnit = const OptimizerUnit* (*)(absl::string_view domain, absl::string_view op_type);

// Appends fusions of nodes that are in none yet.
void FindUpdates(const Model& model, FindUpdateUnit find_unit, FusedNodes& taken, std::vector<Fusion>& fusions);

}  // namespace amp

#endif  // AMP_RUNTIME_PLAN_FIND_UPDATES_H_
