// A minimum cut: nodes fall on two sides, and what that costs is as little as can be.
//
//   MinCut cut;
//   const CutNode a = cut.AddNode();
//   cut.AddArc(cut.source(), a, 5);   // 5 if a is on the sink's side
//   cut.AddArc(a, cut.sink(), 3);     // 3 if a is on the source's side
//   cut.Solve();                      // 3: a is on the source's side
//
// Exact, and the same for the same input: of several cuts that cost the least, the one whose source side is smallest.
// Max-flow after Boykov and Kolmogorov (2004), from Boost.Graph, which nothing else includes.
#ifndef AMP_PASSES_PAINT_MIN_CUT_H_
#define AMP_PASSES_PAINT_MIN_CUT_H_

#include <cstdint>
#include <vector>

#include "ir/base/ids.h"

namespace amp {

using CutNode = Id<struct CutNodeTag>;

class MinCut {
 public:
  // An arc that must not be cut. All other capacities together are to stay below.
  static constexpr int64_t kInfinite = INT64_MAX / 4;

  static constexpr CutNode source() { return CutNode(0); }
  static constexpr CutNode sink() { return CutNode(1); }
  CutNode AddNode() { return CutNode(num_nodes_++); }
  // Costs `capacity` if `from` is on the source's side and `to` on the sink's. REQUIRES: capacity >= 0.
  void AddArc(CutNode from, CutNode to, int64_t capacity);
  // Returns the cost of the cut, and CHECKs that it equals the flow. To be called once.
  int64_t Solve();
  // REQUIRES: Solve() was called.
  bool IsOnSourceSide(CutNode node) const { return is_on_source_side_[node]; }
  size_t num_nodes() const { return num_nodes_; }

 private:
  struct Arc {
    CutNode from, to;
    int64_t capacity;
  };
  size_t num_nodes_ = 2;
  std::vector<Arc> arcs_;
  IdVector<CutNode, bool> is_on_source_side_;
};

}  // namespace amp

#endif  // AMP_PASSES_PAINT_MIN_CUT_H_
