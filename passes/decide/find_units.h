// The parts of a model that become low together: a heavy node, and the light ones that are low because of it.
//
//   x ─ LayerNorm ─ MatMul ─ Add ─ Softmax (float32) ─ MatMul ─ Reshape ─ y
//                   └ unit 1 ┘                          └── unit 2 ──┘
//
// A light node belongs to the heavy one ahead of it, the last one if there are several, or else to the next one behind
// it. An operand with a type of its own joins nothing where there is another way.
//
// An edge is rounded if its producer or its reader is low, so that a heavy node that is denied alone leaves much of its
// error to the light nodes around it: what is kept float32 is a unit.
#ifndef AMP_PASSES_DECIDE_FIND_UNITS_H_
#define AMP_PASSES_DECIDE_FIND_UNITS_H_

#include <vector>

#include "passes/decide/decide_rewrite.h"

namespace amp {

struct Unit {
  NodeId head = kNone;        // the heavy node, or the first one where there is none
  std::vector<NodeId> nodes;  // all of them low, the head among them, in the order of the model
};

// Whether the operand may have another type than the result, as the grid of GridSample: it stays in the type that it is
// given in. Not of casts, and not of nodes with bodies.
bool HasTypeOfItsOwn(const Model& model, const VertexGraph& graph, NodeId node, size_t port);

// In the order of their heads. Every node that is low is in one of them. Linear.
std::vector<Unit> FindUnits(const Model& model, const Decision& decision);

}  // namespace amp

#endif  // AMP_PASSES_DECIDE_FIND_UNITS_H_
