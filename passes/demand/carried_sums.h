// How the states of loops become what the next round finds: by sums, by products, or by something else.
//
//   Loop: h = h + d                  a sum: after 1,000 rounds in float16 as many roundings of h
//   Loop: h = a * h + d              a product too: what is lost fades away
//   Loop: h = Tanh(MatMul(h, w))     something else
#ifndef AMP_PASSES_DEMAND_CARRIED_SUMS_H_
#define AMP_PASSES_DEMAND_CARRIED_SUMS_H_

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "passes/guard/guarded_graph.h"

namespace amp {

struct CarriedState {
  NodeId loop = kNone;
  ValueId found = kNone, left = kNone;  // by a round
  std::optional<double> trips;          // nothing: only known when the model runs
  bool adds = false, multiplies = false;
  std::vector<NodeId> way;  // the nodes that make the next state of the one before, the last one first
};

class CarriedSums {
 public:
  // Linear in the nodes of bodies. `graph` must outlive this object.
  explicit CarriedSums(const GuardedGraph& graph);

  const std::vector<CarriedState>& states() const { return states_; }
  // The state that a round finds under this name; null if it is none.
  const CarriedState* Find(ValueId found) const;

 private:
  void Follow(absl::Span<CarriedState> states) const;  // of one body

  const GuardedGraph& graph_;
  std::vector<CarriedState> states_;
  absl::flat_hash_map<ValueId, size_t> by_name_;
};

}  // namespace amp

#endif  // AMP_PASSES_DEMAND_CARRIED_SUMS_H_
