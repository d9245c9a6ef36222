// Removes cast pairs that a rewrite has made superfluous.
//
//   a:f16 ─ Cast(f32) ─ b ─ Cast(f16) ─ c      readers of c read a; if c is a graph output, a becomes it
//
// Only where CastChainIsExact says that nothing is lost, and only where one of the two casts was inserted by this run:
// a user's own narrowing pair rounds, and stays. Casts that nobody reads any more go, a user's too; an inserted one
// whose last readers are in branches moves into them.
#ifndef AMP_PASSES_CAST_FOLD_CASTS_H_
#define AMP_PASSES_CAST_FOLD_CASTS_H_

#include <utility>
#include <vector>

#include "ir/graph/graph.h"

namespace amp {

struct FoldedCasts {
  std::vector<NodeId> erased;
  // (cast, its new copy): what was read outside of branches too is read in several of them alone.
  std::vector<std::pair<NodeId, NodeId>> copies;
};

// Linear in the nodes.
FoldedCasts FoldCasts(Model& model);

}  // namespace amp

#endif  // AMP_PASSES_CAST_FOLD_CASTS_H_
