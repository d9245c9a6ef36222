// Chooses the type of what the classes leave open, so that the fewest bytes are moved.
//
//   a = MatMul(x, w)     low         Add and Relu in float32: 16 bytes per element read and written, and a cast, 6
//   b = Add(a, x2)       free        both low: 8 bytes, and the same cast behind them
//   c = Relu(b)          free
//   d = Softmax(c)       float32     -> both are low
//
// A vertex costs the bytes that its node reads and writes, in either type, through the ports that it types. A value
// costs one cast per direction, read and written, however many read it. A constant costs an eighth of its bytes in the
// types that its readers want, since it is loaded once for many runs. A price per rounding, less than one byte, keeps
// float32 what gains nothing.
//
// A value that more than 256 vertices read has its casts for nothing.
//
// Two types, costs of vertices and of pairs: a minimum cut (min_cut.h) finds the best of all assignments. A value takes
// two auxiliary nodes, so that its cast is paid once for all readers. Must-match groups are one node.
//
// Unknown sizes are guessed (traffic.h). Ideas: project selection (Picard 1976); PyTorch's min-cut partitioner.
#ifndef AMP_PASSES_PAINT_PLACE_BY_CUT_H_
#define AMP_PASSES_PAINT_PLACE_BY_CUT_H_

#include <cstdint>
#include <vector>

#include "passes/paint/vertex_graph.h"

namespace amp {

// The side of a vertex, if it is settled beforehand. All vertices of a group have one side.
enum class Side : uint8_t {
  kFree,
  kLow,
  kHigh,
  kCast,  // gives either type for nothing if all its readers want it: a cast of the model's own
};

struct Placement {
  IdVector<VertexId, bool> low;
  // For each free vertex, the bytes that would be moved in addition if it, with its group, had the other type. Never
  // negative.
  IdVector<VertexId, int64_t> gain;
  // The cost of the whole placement in bytes, and its cost with all free vertices in float32.
  int64_t cost = 0, cost_high = 0;
  bool knows_all_sizes = true;
};

// kFewestCasts: what nodes move and constants take costs nothing, and every cast the same, whatever it moves.
enum class CutGoal : uint8_t { kFewestBytes, kFewestCasts };

// `released_outputs` tells of a graph output (by position) whether it may become low, `released_inputs` the same of
// inputs.
Placement PlaceByCut(const Model& model, const VertexGraph& graph, const IdVector<VertexId, Side>& sides,
                     const std::vector<bool>& released_inputs, const std::vector<bool>& released_outputs,
                     CutGoal goal = CutGoal::kFewestBytes);

}  // namespace amp

#endif  // AMP_PASSES_PAINT_PLACE_BY_CUT_H_
