// Chooses the type of what the classes leave open, so that the fewest bytes are moved.
//
//   a = MatMul(x, w)     low         Add and Relu in float32: 16 bytes per element read and written, and a cast, 6
//   b = Add(a, x2)       free        both low: 8 bytes, and the same cast behind them
//   c = Relu(b)          free
//   d = Softmax(c)       float32     -> both are low
//
// What a vertex costs is what its node reads and writes through the ports that it types, in either type; what a value
// costs is one cast per direction, read and written, however many read it; what a constant costs is its bytes in the
// types that its readers want, an eighth of them, since they are loaded once for many runs. A price per rounding, less
// than one byte, keeps float32 what gains nothing.
//
// A value that more than 256 vertices read has its casts for nothing.
//
// Two types, costs of vertices and of pairs: a minimum cut (min_cut.h) finds the best of all assignments. A value takes
// two auxiliary nodes, so that its cast is paid once for all readers. Must-match groups are one node.
//
// Sizes that are not known are guessed (traffic.h). Ideas: project selection (Picard 1976); PyTorch's min-cut partitioner.
#ifndef AMP_PASSES_PAINT_PLACE_BY_CUT_H_
#define AMP_PASSES_PAINT_PLACE_BY_CUT_H_

#include <cstdint>
#include <vector>

#include "passes/paint/vertex_graph.h"

namespace amp {

// What is settled before. A group has one side.
enum class Side : uint8_t {
  kFree,
  kLow,
  kHigh,
  kCast,  // gives either type for nothing if all its readers want it: a cast of the model's own
};

struct Placement {
  IdVector<VertexId, bool> low;
  // Of a free vertex: how many bytes more would be moved if it, with its group, had the other type. Never negative.
  IdVector<VertexId, int64_t> gain;
  // What the whole placement costs, in bytes, and what it would cost with all free vertices in float32.
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
