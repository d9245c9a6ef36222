// Decides which vertices become low: TensorFlow's auto_mixed_precision rules, step by step.
//
//   P1 seed            allow vertices that are float32 and can be low
//   P2 deny, forward   denied results stay high through infer and clear, up to the last infer
//   P3 between         infer and clear on a path between two allowed vertices follow them
//   P4 follow          infer with an allowed producer and no denied one (a property of the profile)
//   P5 clear follows   clear neighbours, both ways
//   P7 groups          vertices that must match become low together or not at all
//   P8 existing casts  a cast to float32 read by low vertices alone produces the low type itself; one that a guard
//                      keeps float32 only if that gives the same numbers
// (P6 removes impossible vertices, which P1 never adds; P9, the casts, is insert_casts.h.)
//
// TensorFlow lets groups agree at the end. Here a group with a member that is denied or cannot change is closed before
// P3, and whoever enters a group enters all of it: no vertex is left low for the sake of one that had to go back.
//
// Every step is a closure and therefore independent of visiting order; P4 runs in topological order. Painting decides
// and edits nothing. Each vertex carries the reason for its colour. Source:
// tensorflow/core/grappler/optimizers/auto_mixed_precision.cc, releases 1.15 to 2.21.
#ifndef AMP_PASSES_PAINT_PAINT_GRAPH_H_
#define AMP_PASSES_PAINT_PAINT_GRAPH_H_

#include <string>
#include <vector>

#include "ir/base/choices.h"
#include "passes/classify/op_lists.h"
#include "passes/paint/vertex_graph.h"

namespace amp {

enum class ReasonKind {
  // low
  kSeeded,
  kBetween,
  kFollows,
  kClearNeighbour,
  kCastJoins,
  kMatches,  // low because `via`, which must have the same type, is
  kForced,
  kSavesTraffic,  // `bytes`
  // high
  kDenied,        // its own class
  kLevel,         // `detail` says how the level changes its class
  kDeniedByPath,  // downstream of `via`
  kGuard,         // `detail` has the numbers
  kUnlisted,
  kNotProcessed,   // `detail` says which rule
  kTypeUnknown,    // nobody knows whether a cast would be needed
  kSchemaForbids,  // the low type at this opset
  kPinned,         // a sequence or optional that crosses the border of the graph
  kGroup,          // its must-match group is closed by `via`
  kNoFastKernel,   // on the target, for the low type
  kNoAllowedPath,  // infer or clear without a reason to be low
  kCostsTraffic,   // `bytes`
  kNotFloat32,     // nothing to convert
};
// "seeded", "denied-by-path", ...: the report's stable names.
absl::string_view ReasonName(ReasonKind kind);

// The end that an infer vertex lacks for a path between two allowed ones: one ahead of it or, if that is there, one
// behind it.
enum class MissingEnd { kUnknown, kAhead, kBehind };

struct PaintReason {
  ReasonKind kind = ReasonKind::kNoAllowedPath;
  VertexId via = kNone;  // of kNoAllowedPath: the nearest vertex where the way to the missing end is cut; none: no cut
  std::string detail;
  VertexId root = kNone;  // of a path of denials: the vertex that is denied itself
  MissingEnd missing = MissingEnd::kUnknown;
  int64_t bytes = 0;         // that would be moved more with the other type
  bool is_estimate = false;  // of `bytes`: some sizes are not known
};

struct VertexPaint {
  bool low = false;
  bool denied = false;  // in P2's set
  // The neighbour on the way back to the vertex that is denied itself, which has none. Stays when `reason` changes, so
  // that the way of every vertex behind this one is whole.
  VertexId denied_by = kNone;
  PaintReason reason;
};

using Paint = IdVector<VertexId, VertexPaint>;

struct PaintOptions {
  Level level = Level::kDefault;
  PlacementMode placement = PlacementMode::kPaint;
  bool follow = false;         // with kPaint
  bool target_can_run = true;  // the target has fast kernels for the low type
};

// The facts about each node that painting needs.
struct NodeTraits {
  OpClass op_class = OpClass::kUnlisted;
  bool processed = true;
  bool forced_allow = false;  // by name: class allow, guards overridden
  bool is_cast = false;       // Cast or CastLike (P8)
  bool may_be_forced = true;  // by unsafe-force-all: no loss, no state
  std::string not_processed_why;
};

// A guard's veto of one vertex. What is downstream stays float32 with it, as behind a denied operator, unless it is of
// the vertex alone: what data show is known of each.
struct Veto {
  VertexId vertex = kNone;
  std::string why;
  bool is_alone = false;
};

// Which graph inputs and outputs, by position, may become low.
struct ReleasedIo {
  std::vector<bool> inputs, outputs;
};

// One entry per vertex.
Paint PaintGraph(const Model& model, const VertexGraph& graph, const IdVector<NodeId, NodeTraits>& traits,
                 const std::vector<Veto>& vetoes, const ReleasedIo& released, const PaintOptions& options);

}  // namespace amp

#endif  // AMP_PASSES_PAINT_PAINT_GRAPH_H_
